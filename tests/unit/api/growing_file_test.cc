// SPDX-License-Identifier: Apache-2.0
// Files that grow, and lines of CSV.

#include "api/common/growing_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/common/csv.h"

namespace tilescope::api {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class Growing : public testing::Test {
 protected:
  ~Growing() override { std::filesystem::remove(file_); }
  std::string text() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string file_ = testing::TempDir() + "tilescope_growing_" + std::to_string(getpid());
};

TEST_F(Growing, IsAddedTo) {
  {
    GrowingFile out(file_);
    EXPECT_EQ(out.text(), "");
    out.add("one\ntw");
    EXPECT_EQ(text(), "one\ntw");
  }
  GrowingFile out(file_);
  EXPECT_EQ(out.text(), "one\ntw");
  out.cut(4);
  out.add("2\n");
  EXPECT_EQ(text(), "one\n2\n");
}

TEST_F(Growing, OneAtATime) {
  const GrowingFile out(file_);
  EXPECT_THAT([&] { GrowingFile again(file_); }, ThrowsMessage<std::runtime_error>(HasSubstr("another process")));
}

TEST_F(Growing, WhatIsNoFile) {
  EXPECT_THAT([&] { GrowingFile out(testing::TempDir()); },
              ThrowsMessage<std::runtime_error>(HasSubstr("expected a regular file")));
  EXPECT_THAT([&] { GrowingFile out(file_ + "/none/f.csv"); },
              ThrowsMessage<std::runtime_error>(HasSubstr("cannot be written")));
}

RC_GTEST_PROP(Csv, CellsAreReadAsTheyWereWritten, ()) {
  const auto texts = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::element('a', ',', '"', ' ', '1'))));
  const std::string line = csv_line({texts.begin(), texts.end()}, texts.size());
  RC_ASSERT(line.back() == '\n');
  std::vector<std::string> again;
  for (const CsvCell& c : csv_cells(std::string_view(line).substr(0, line.size() - 1))) again.push_back(c.text);
  RC_ASSERT(again == texts);
}

TEST(Csv, WhatIsMissingIsEmpty) { EXPECT_EQ(csv_line({nullptr, 3, "x"}, 5), ",3,x,,\n"); }

}  // namespace
}  // namespace tilescope::api
