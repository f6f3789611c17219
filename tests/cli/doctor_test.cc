// SPDX-License-Identifier: Apache-2.0
// `tilescope doctor`: what is there, and one sentence for what is not.

#include <gmock/gmock.h>

#include "tests/cli/run_cli.h"
#include "tests/support/environment.h"

namespace tilescope::tests {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsSubsetOf;
using testing::MatchesRegex;

class Doctor : public Cli {
 protected:
  Json part(const std::string& name) const {
    const Json parts = json({"doctor"}).at("parts");
    for (const Json& row : parts)
      if (row["part"] == name) return row;
    return {};
  }
};

TEST_F(Doctor, SaysOfEveryPartWhatIsThereOrWhyNot) {
  const Json parts = json({"doctor"}).at("parts");
  const std::string table = run({"doctor"}).out;
  std::vector<std::string> names;
  for (const Json& p : parts) {
    EXPECT_THAT(keys_of(p), ElementsAre("part", "present", "detail"));
    EXPECT_NE(p.at("detail"), "");
    EXPECT_THAT(table, HasSubstr(p.at("detail").get<std::string>()));
    names.push_back(p.at("part"));
  }
  EXPECT_THAT((std::vector<std::string>{"kernels on the CPU", "NVRTC", "CUDA driver", "cuBLAS", "cuDNN", "HIP",
                                        "NVRTC 11", "nvdisasm"}),
              IsSubsetOf(names));
}

TEST_F(Doctor, NamesTheFileThatCannotBeOpened) {
  const std::vector<std::pair<std::string, std::string>> files = {{"NVRTC", "libnvrtc.so.13"},
                                                                  {"CUDA driver", "libcuda.so.1"},
                                                                  {"cuBLAS", "libcublas.so.13"},
                                                                  {"cuDNN", "libcudnn.so.9"},
                                                                  {"NVRTC 11", "libnvrtc.so.11.2"}};
  const EnvironmentVariable chosen("TILESCOPE_CUDA_PATH", path("").string());
  for (const auto& [name, file] : files) {
    write(file, "no library");
    const Json row = part(name);
    EXPECT_EQ(row["present"], false);
    EXPECT_THAT(row["detail"].get<std::string>(), HasSubstr(file));
  }
}

// The toolkit's stub has every function and no GPU.
TEST_F(Doctor, TellsTheStubFromADriver) {
  const char* home = std::getenv("CUDA_HOME");
  const std::filesystem::path toolkit = home == nullptr ? "/usr/local/cuda" : home;
  const std::filesystem::path stub = toolkit / "lib64/stubs/libcuda.so";
  if (!std::filesystem::exists(stub)) GTEST_SKIP() << stub << " is not there";
  std::filesystem::create_symlink(stub, path("libcuda.so.1"));
  const EnvironmentVariable chosen("TILESCOPE_CUDA_PATH", path("").string());
  const Json row = part("CUDA driver");
  EXPECT_EQ(row["present"], false);
  EXPECT_THAT(
      row["detail"].get<std::string>(),
      EndsWith("does not start: it is the toolkit's stub, which programs are linked with and no GPU is behind"));
}

TEST_F(Doctor, TellsVersionAndTargetsOfNvrtc) {
  const Json row = part("NVRTC");
  if (!row["present"].get<bool>()) GTEST_SKIP() << row["detail"];
  EXPECT_THAT(row["detail"].get<std::string>(), MatchesRegex("[0-9]+[.][0-9]+ in .*libnvrtc.*, for (sm_[0-9]+ )+.*"));
}

}  // namespace
}  // namespace tilescope::tests
