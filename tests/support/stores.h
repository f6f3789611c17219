// SPDX-License-Identifier: Apache-2.0
#pragma once
// A folder of its own for the stores of a test, removed with it, and what is read of them.

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "experiments/store/store.h"
#include "experiments/sweep/export.h"
#include "experiments/sweep/sweep.h"
#include "tests/support/build.h"

namespace tilescope::tests {

class Stores : public testing::Test {
 protected:
  Stores() { std::filesystem::create_directories(folder_); }
  ~Stores() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

  // Sweeps the folder's sweep.yaml; throws what is wrong.
  experiments::SweepRun sweep_into(const std::string& store, std::optional<experiments::Shard> shard = {}) const {
    experiments::SweepRequest request{path("sweep.yaml"), path(store), "test", 2};
    request.shard = shard;
    base::Diagnostics diags;
    auto out = experiments::sweep(request, [] { return false; }, [](const experiments::SweepProgress&) {}, diags);
    require_no_errors(diags);
    return std::move(out.value());
  }

  // Throws what a reader is told of a store that is refused.
  experiments::Store store(const std::string& name) const {
    base::Diagnostics diags;
    auto out = experiments::Store::open(path(name), diags);
    require_no_errors(diags);
    return std::move(out.value());
  }
  // Of the store's first sweep.
  std::string table(const std::string& name, experiments::TableForm form = experiments::TableForm::kCsv) const {
    const experiments::Store s = store(name);
    std::string out;
    experiments::write_table(s, s.sweeps().front(), form, [&](std::string_view text) { out += text; });
    return out;
  }

  std::filesystem::path folder_ = testing::TempDir() + "tilescope_stores_" + std::to_string(getpid());
};

}  // namespace tilescope::tests
