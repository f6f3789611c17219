// SPDX-License-Identifier: Apache-2.0
// Prints how to run this program's property tests again exactly as they ran, also where they pass.

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace {

class PropertySeed : public testing::Environment {
 public:
  void SetUp() override {
    const char* given = std::getenv("RC_PARAMS");
    std::string params = given == nullptr ? "" : given;
    if (params.find("seed=") == std::string::npos) params += " seed=" + std::to_string(std::random_device{}());
    setenv("RC_PARAMS", params.c_str(), 1);
    std::cout << "RC_PARAMS='" << params << "'\n";
  }
};

[[maybe_unused]] const auto* const property_seed = testing::AddGlobalTestEnvironment(new PropertySeed);

}  // namespace
