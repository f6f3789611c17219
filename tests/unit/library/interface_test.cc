// SPDX-License-Identifier: Apache-2.0
// The library through its C++ interface, which is the C interface with owners: what tables hold, and what is refused.
#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <tilescope/tilescope.hpp>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"

namespace {

using testing::AllOf;
using testing::Field;
using testing::HasSubstr;
using tilescope::Chip;
using tilescope::InputError;
using tilescope::Options;
using tilescope::Table;
using tilescope::Work;

constexpr const char* kProduct = "C[m,n] +=! A[m,k] * B[k,n]";

Table constructed(const char* device, const char* top) {
  return construct(Work::op(kProduct, "m=256,n=200,k=96"), Chip(device), Options().set("top", top));
}

tilescope::base::Value json(const std::string& text) {
  tilescope::base::Diagnostics diags;
  return tilescope::base::read_json(text, diags.add_source("document"), diags).value();
}

// What the call throws, a message a line; empty where it throws nothing.
template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const InputError& e) {
    return e.what();
  }
  return {};
}

TEST(Tables, CellsAreThoseOfTheDocument) {
  const Table t = constructed("v100", "4");
  const auto document = json(t.document());
  const auto& operators = *document.find("operators")->get_if<tilescope::base::List>();
  const auto& programs = *operators.front().find("programs")->get_if<tilescope::base::List>();
  ASSERT_EQ(t.rows(), programs.size());
  for (std::size_t row = 0; row < t.rows(); ++row) {
    for (const char* number : {"predicted_us", "waves", "occupancy_ratio"})
      EXPECT_EQ(t.number(row, number), *programs[row].find(number)->get_if<double>()) << number;
    EXPECT_EQ(t.number(row, "blocks"), static_cast<double>(*programs[row].find("blocks")->get_if<std::int64_t>()));
    EXPECT_EQ(t.text(row, "bottleneck"), *programs[row].find("bottleneck")->get_if<std::string>());
    EXPECT_EQ(t.text(row, "program"), tilescope::base::to_json(*programs[row].find("program")));
    for (const auto& term : *programs[row].find("terms")->get_if<tilescope::base::Map>()) {
      std::string name = "term." + term.key;
      for (char& c : name)
        if (c == ' ') c = '_';
      EXPECT_EQ(t.number(row, name), *term.value.get_if<double>()) << name;
    }
  }
}

TEST(Tables, EveryColumnHasANameOfItsOwnAndASentence) {
  std::set<std::string> names;
  for (const tilescope::Column& c : constructed("a100", "1").columns()) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_FALSE(c.about.empty()) << c.name;
    if (c.name.ends_with("_us")) {
      EXPECT_EQ(c.unit, "us") << c.name;
    }
  }
  EXPECT_TRUE(names.contains("level.dram_bytes"));
}

TEST(Tables, ColumnsAreTheirCells) {
  const Table t = constructed("v100", "5");
  const std::size_t times = tilescope_table_find(t.get(), "predicted_us");
  const std::size_t bound = tilescope_table_find(t.get(), "bottleneck");
  std::vector<double> numbers(t.rows());
  std::vector<std::int32_t> texts(t.rows());
  tilescope_table_numbers(t.get(), times, numbers.data());
  tilescope_table_text_indices(t.get(), bound, texts.data());
  EXPECT_EQ(tilescope_table_kinds(t.get(), times), 1U << TILESCOPE_NUMBER);
  EXPECT_EQ(tilescope_table_kinds(t.get(), bound), 1U << TILESCOPE_TEXT);
  for (std::size_t row = 0; row < t.rows(); ++row) {
    EXPECT_EQ(numbers[row], t.number(row, "predicted_us"));
    EXPECT_EQ(tilescope_table_text_at(t.get(), bound, static_cast<std::size_t>(texts[row])), t.text(row, "bottleneck"));
  }
}

TEST(Tables, NothingIsReadBeyondThem) {
  const Table t = constructed("v100", "1");
  EXPECT_TRUE(std::isnan(t.number(1, "predicted_us")));
  EXPECT_TRUE(std::isnan(t.number(0, "no such column")));
  EXPECT_EQ(t.text(0, "no such column"), std::nullopt);
  EXPECT_EQ(t.text(0, "predicted_us"), std::nullopt);
  EXPECT_EQ(tilescope_table_kind(t.get(), 9, 0), TILESCOPE_ABSENT);
  EXPECT_EQ(tilescope_table_kind(t.get(), 0, 9999), TILESCOPE_ABSENT);
  EXPECT_STREQ(tilescope_table_column(t.get(), 9999).name, "");
  EXPECT_EQ(tilescope_table_text_at(t.get(), 0, 9999), nullptr);
}

TEST(Programs, GoFromATableToAnotherQuestion) {
  const Table best = constructed("v100", "3");
  const Table again = predict(Work::programs(best.programs()), Chip("v100"));
  ASSERT_EQ(again.rows(), best.rows());
  for (std::size_t row = 0; row < best.rows(); ++row)
    EXPECT_EQ(again.number(row, "predicted_us"), best.number(row, "predicted_us"));
  EXPECT_EQ(again.programs(), "");
}

TEST(Chips, ACopyKeepsItsValues) {
  Chip first("v100");
  Chip second = first;
  second.set("memory.smem.banks", "64");
  second.set("memory.smem.banks", "16");
  EXPECT_EQ(first.value("memory.smem.banks"), "32");
  EXPECT_EQ(second.value("memory.smem.banks"), "16");
  EXPECT_THAT(refusal_of([&] { second.set("memory.smem.banks", "no"); }), HasSubstr("memory.smem.banks"));
  EXPECT_EQ(second.value("memory.smem.banks"), "16");
}

TEST(Refusals, NameFileLineAndColumn) {
  try {
    Chip::read("extends: v100\nname: x\ncore:\n  count: many\n", "mine.yaml");
    FAIL() << "was read";
  } catch (const InputError& e) {
    EXPECT_THAT(e.messages(), testing::Contains(AllOf(Field(&tilescope::Message::input, "mine.yaml"),
                                                      Field(&tilescope::Message::line, 4U),
                                                      Field(&tilescope::Message::column, 10U))));
  }
}

TEST(Refusals, SayWhatWouldDo) {
  const Work work = Work::op(kProduct, "m=64,n=64,k=64");
  const Chip v100("v100");
  EXPECT_THAT(refusal_of([&] { Chip("v10O"); }), HasSubstr("did you mean"));
  EXPECT_THAT(refusal_of([&] { Options().set("topp", "1"); }), HasSubstr("did you mean 'top'"));
  EXPECT_THAT(refusal_of([&] { Options().set("top", "-1"); }), HasSubstr("from 1 to 1000"));
  EXPECT_THAT(refusal_of([&] { Work::op(kProduct, "m=64"); }), HasSubstr("size"));
  EXPECT_THAT(refusal_of([&] { construct(Work::programs("{}"), v100); }), HasSubstr("predict or simulate"));
  EXPECT_THAT(refusal_of([&] { construct(work, Chip("v100"), Options().set("instruction", "mma.f99")); }),
              HasSubstr("mma.f99"));
  EXPECT_THAT(refusal_of([&] { tilescope::read("/nowhere.db"); }), HasSubstr("/nowhere.db"));
}

TEST(Refusals, NullPointersAreArgumentsToo) {
  tilescope_messages* messages = tilescope_messages_new();
  EXPECT_EQ(tilescope_chip_open(nullptr, messages), nullptr);
  EXPECT_EQ(tilescope_construct(nullptr, nullptr, nullptr, messages), nullptr);
  EXPECT_EQ(tilescope_work_operator(nullptr, nullptr, nullptr, nullptr, nullptr), nullptr);
  EXPECT_GE(tilescope_messages_count(messages), 2U);
  tilescope_messages_free(messages);
  tilescope_free(nullptr);
}

TEST(Progress, IsToldAndAThrowEndsNothingElse) {
  std::size_t calls = 0, last = 0;
  Options options;
  options.progress([&](std::size_t done, std::size_t all) -> bool {
    ++calls;
    last = done;
    EXPECT_LE(done, all);
    throw std::runtime_error("a caller's own");
  });
  const Table t = construct(Work::suite("examples"), Chip("v100"), options.set("top", "1").set("small", "true"));
  EXPECT_GE(calls, 1U);
  EXPECT_EQ(last, t.rows());
}

}  // namespace
