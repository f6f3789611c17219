// SPDX-License-Identifier: Apache-2.0
// A row's terms and levels as a store keeps them: to the bit, whatever their names; other bytes than those are damage.

#include "experiments/store/detail/described.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "experiments/store/detail/corrupt_store.h"
#include "experiments/store/detail/text.h"
#include "experiments/store/writer.h"
#include "tests/support/stores.h"

namespace tilescope::experiments {
namespace {

class Predictions {
 public:
  api::Prediction next() {
    api::Prediction p;
    p.terms.resize(random_() % 12);
    p.levels.resize(random_() % 6);
    for (api::TermRow& t : p.terms) t = {name(), number()};
    for (api::LevelRow& l : p.levels) l = {name(), number(), number(), number(), number()};
    return p;
  }
  double number() {
    const double edges[] = {0.0,
                            -0.0,
                            1.0,
                            std::numeric_limits<double>::denorm_min(),
                            std::numeric_limits<double>::max(),
                            std::numeric_limits<double>::lowest()};
    if (random_() % 8 == 0) return edges[random_() % std::size(edges)];
    double v = 0;
    do v = std::bit_cast<double>(random_());
    while (!std::isfinite(v));
    return v;
  }
  std::size_t below(std::size_t n) { return random_() % n; }

 private:
  std::string name() {
    const std::string names[] = {"issue", "l2",         "",      "a \"quoted\" \\ name", "\u00e9\u6f22\U0001f600",
                                 "'; --", "two\nlines", "terms", std::string("a\0b", 3), std::string(3000, 'n')};
    return names[random_() % std::size(names)];
  }

  std::mt19937_64 random_{7};
};

// By its bits: 0 and -0 are two.
std::string text(const api::Prediction& p) {
  std::string out;
  const auto add = [&](const std::string& name, std::initializer_list<double> numbers) {
    out += fmt::format("{:?}", name);
    for (const double v : numbers) out += fmt::format(" {:016x}", std::bit_cast<std::uint64_t>(v));
    out += '\n';
  };
  for (const api::TermRow& t : p.terms) add(t.name, {t.us});
  out += "levels\n";
  for (const api::LevelRow& l : p.levels) add(l.name, {l.bytes, l.transactions, l.conflict_ratio, l.time_us});
  return out;
}

api::Prediction unpacked(const NumberNames& names, const std::string& bytes) {
  api::Prediction p;
  p.terms = {{"old", 1}};
  p.levels = {{"old", 1, 1, 1, 1}};
  unpack(p, names, bytes);
  return p;
}

TEST(Numbers, AnyTermsAndLevelsComeBackToTheBit) {
  Predictions any;
  for (int i = 0; i < 500; ++i) {
    const api::Prediction p = any.next();
    EXPECT_EQ(text(unpacked(names_of_text(text_of(packed(p).names)), packed(p).bytes)), text(p));
  }
}

// A store is read on another machine, and by other programs.
TEST(Numbers, AreLittleEndianDoubles) {
  api::Prediction p;
  p.terms = {{"issue", 1.0}};
  p.levels = {{"l2", -2.0, 0.0, 0.5, std::bit_cast<double>(std::uint64_t{0x0102030405060708})}};
  const std::string bytes(
      "\0\0\0\0\0\0\xf0\x3f"
      "\0\0\0\0\0\0\0\xc0"
      "\0\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\xe0\x3f"
      "\x08\x07\x06\x05\x04\x03\x02\x01",
      40);
  EXPECT_EQ(packed(p).bytes, bytes);
  EXPECT_EQ(text_of(packed(p).names), R"({"terms":["issue"],"levels":["l2"]})");
}

TEST(Numbers, AnotherLengthIsDamage) {
  Predictions any;
  for (int i = 0; i < 100; ++i) {
    const api::Prediction p = any.next();
    const NumberNames names = packed(p).names;
    const std::string bytes = packed(p).bytes;
    EXPECT_THROW(unpacked(names, bytes + std::string(1 + any.below(16), '\0')), CorruptStore);
    if (bytes.empty()) continue;
    EXPECT_THROW(unpacked(names, bytes.substr(0, any.below(bytes.size()))), CorruptStore);
  }
}

TEST(Numbers, WhatIsNotFiniteIsDamageWhereverItStands) {
  using Limits = std::numeric_limits<double>;
  api::Prediction p;
  p.terms = {{"issue", 1}, {"l2", 2}};
  p.levels = {{"l2", 1, 2, 3, 4}};
  const NumberNames names = packed(p).names;
  for (double* v : {&p.terms[0].us, &p.terms[1].us, &p.levels[0].bytes, &p.levels[0].transactions,
                    &p.levels[0].conflict_ratio, &p.levels[0].time_us})
    for (const double none : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::signaling_NaN()}) {
      const double was = std::exchange(*v, none);
      EXPECT_THROW(unpacked(names, packed(p).bytes), CorruptStore) << none;
      *v = was;
    }
}

TEST(Numbers, NamesThatAreNoListsOfTextsAreDamage) {
  for (const char* wrong :
       {"", "{", "[]", "{}", R"({"terms":[]})", R"({"levels":[]})", R"({"terms":[],"levels":{}})",
        R"({"terms":"issue","levels":[]})", R"({"terms":[1],"levels":[]})", R"({"terms":[],"levels":[null]})"})
    EXPECT_THROW(unpacked(names_of_text(wrong), ""), CorruptStore) << wrong;
}

class NumbersTest : public tests::Stores {};

TEST_F(NumbersTest, AStoreKeepsAListOfNamesOnce) {
  base::Diagnostics diags;
  Predictions any;
  std::set<std::string> lists;
  const api::Prediction two[] = {any.next(), any.next()};
  for (int writer = 0; writer < 2; ++writer) {  // the second finds the names of the first
    auto to = StoreWriter::open(path("r.db"), "1.2.3", diags);
    tests::require_no_errors(diags);
    const Content request = to->request(base::Value("r")), workload = to->workload(base::Value("w"));
    for (int i = 0; i < 20; ++i) {
      StoredRow row;
      api::Prediction& p = row.prediction.emplace(i % 4 == 3 ? any.next() : two[i % 2]);
      for (api::TermRow& t : p.terms) t.us = any.number();
      const Content chip = to->chip(fmt::format("{} {}", writer, i), "chip", base::Value("c"));
      to->add({chip, request, workload}, RowTexts(row, "{}"));
      lists.insert(text_of(packed(p).names));
    }
    to->commit();
  }
  SQLite::Database file(path("r.db"), SQLite::OPEN_READONLY);
  EXPECT_EQ(file.execAndGet("SELECT count(*) FROM names").getInt(), static_cast<int>(lists.size()));
  EXPECT_EQ(file.execAndGet("SELECT count(*) FROM rows r JOIN names n ON n.id = r.names").getInt(), 40);
}

}  // namespace
}  // namespace tilescope::experiments
