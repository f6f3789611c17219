// SPDX-License-Identifier: Apache-2.0
// Shared libraries by search order, and one sentence where there is none.

#include "backends/cuda/library.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "backends/cuda/process.h"
#include "tests/support/environment.h"

namespace tilescope::tests {
namespace {

using cuda::Library;
using testing::HasSubstr;

// The file of a library that every machine has.
const std::string kPresent = "libm.so.6";

void copy_to(const std::string& file) {
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  std::filesystem::copy_file(Library({kPresent}).path(), file);
}

TEST(Library, FindsFunctionsByName) {
  const Library library({"libtilescope_has_none.so.1", kPresent});
  ASSERT_TRUE(library.ok()) << library.why_unsupported();
  EXPECT_EQ(library.why_unsupported(), "");
  double (*function)(double) = nullptr;
  ASSERT_TRUE(library.find("floor", function));
  EXPECT_EQ(function(2.5), 2);
  EXPECT_FALSE(library.find("tilescope_has_no_such_function", function));
  EXPECT_EQ(function, nullptr);
}

TEST(Library, SaysInASentenceThatThereIsNone) {
  const Library library({"libtilescope_a.so.2", "libtilescope_a.so.1"});
  double (*function)(double) = nullptr;
  EXPECT_FALSE(library.ok());
  EXPECT_EQ(library.path(), "");
  EXPECT_EQ(library.why_unsupported(),
            "libtilescope_a.so.2 and libtilescope_a.so.1 are not in $TILESCOPE_CUDA_PATH, $CUDA_HOME/lib64, "
            "$CUDA_PATH/lib64, the loader's path or /usr/local/cuda/lib64");
  EXPECT_FALSE(library.find("floor", function));
}

// A folder that is searched earlier wins over a name that is listed earlier.
TEST(Library, SearchesFoldersInOrderAndNamesWithinThem) {
  const cuda::TemporaryFolder chosen, home, path;
  const EnvironmentVariable first("TILESCOPE_CUDA_PATH", chosen.path()), second("CUDA_HOME", home.path()),
      third("CUDA_PATH", path.path());
  const std::vector<std::string> names = {"libtilescope_b.so.2", "libtilescope_b.so.1"};
  copy_to(path.path() + "/lib64/libtilescope_b.so.2");
  EXPECT_EQ(Library(names).path(), path.path() + "/lib64/libtilescope_b.so.2");
  copy_to(home.path() + "/lib64/libtilescope_b.so.1");
  EXPECT_EQ(Library(names).path(), home.path() + "/lib64/libtilescope_b.so.1");
  copy_to(home.path() + "/lib64/libtilescope_b.so.2");
  EXPECT_EQ(Library(names).path(), home.path() + "/lib64/libtilescope_b.so.2");
  copy_to(chosen.path() + "/lib64/libtilescope_b.so.1");
  EXPECT_EQ(Library(names).path(), chosen.path() + "/lib64/libtilescope_b.so.1");
  copy_to(chosen.path() + "/libtilescope_b.so.1");
  EXPECT_EQ(Library(names).path(), chosen.path() + "/libtilescope_b.so.1");
}

TEST(Library, WhatCannotBeOpenedEndsTheSearch) {
  const cuda::TemporaryFolder chosen;
  const EnvironmentVariable first("TILESCOPE_CUDA_PATH", chosen.path());
  std::ofstream(chosen.file(kPresent)) << "no library";
  const Library library({kPresent});
  EXPECT_FALSE(library.ok());
  EXPECT_THAT(library.why_unsupported(), HasSubstr(chosen.file(kPresent)));
}

}  // namespace
}  // namespace tilescope::tests
