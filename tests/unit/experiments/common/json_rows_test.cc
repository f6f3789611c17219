// SPDX-License-Identifier: Apache-2.0
// Rows of a document, however many there are and however many threads make them: the same bytes, every row in its
// place.

#include "experiments/common/json_rows.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilescope::experiments {
namespace {

std::string written(std::size_t rows, int jobs) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* to = open_memstream(&text, &size);
  const auto row = [](std::size_t i) {
    return base::Value(base::Map{{"row", base::Value(static_cast<std::int64_t>(i))}});
  };
  write_json_rows(rows, jobs, row, {{"summary", base::Map{{"count", rows}}}, {"notes", base::List{"a"}}}, to);
  std::fclose(to);
  std::string out(text, size);
  std::free(text);
  return out;
}

TEST(JsonRows, AreInTheirOrder) {
  for (const std::size_t rows : {0U, 1U, 63U, 64U, 65U, 4096U, 4097U, 10000U}) {
    const std::string text = written(rows, 1);
    const nlohmann::json document = nlohmann::json::parse(text);
    ASSERT_EQ(document["rows"].size(), rows);
    for (std::size_t i = 0; i < rows; ++i) EXPECT_EQ(document["rows"][i], (nlohmann::json{{"row", i}}));
    EXPECT_EQ(document["summary"], (nlohmann::json{{"count", rows}}));
    EXPECT_EQ(document["notes"], nlohmann::json::array({"a"}));
    for (const int jobs : {2, 5}) EXPECT_EQ(written(rows, jobs), text) << rows << " rows, " << jobs << " jobs";
  }
}

}  // namespace
}  // namespace tilescope::experiments
