// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilescope::base {
namespace {

constexpr Dimension kAll[] = {Dimension::kBytes,
                              Dimension::kHertz,
                              Dimension::kCycles,
                              Dimension::kMicroseconds,
                              Dimension::kBytesPerSecond,
                              Dimension::kFlopsPerSecond,
                              Dimension::kSquareMillimeters,
                              Dimension::kDollars};

struct QuantityText {
  const char* text;
  double value;
  Dimension dimension;
};

const std::vector<QuantityText>& readings() {
  static const std::vector<QuantityText> all = {
      {"7 B", 7, Dimension::kBytes},
      {"1 KB", 1e3, Dimension::kBytes},
      {"1 MB", 1e6, Dimension::kBytes},
      {"1 GB", 1e9, Dimension::kBytes},
      {"1 TB", 1e12, Dimension::kBytes},
      {"96 KiB", 98304, Dimension::kBytes},
      {"1 MiB", 1048576, Dimension::kBytes},
      {"16GiB", 17179869184, Dimension::kBytes},
      {"1 TiB", 1099511627776, Dimension::kBytes},
      {"64 bit", 8, Dimension::kBytes},
      {"0.5 KiB", 512, Dimension::kBytes},
      {"1e3 B", 1000, Dimension::kBytes},
      {"1.5E+1   B", 15, Dimension::kBytes},
      {"7 Hz", 7, Dimension::kHertz},
      {"1 kHz", 1e3, Dimension::kHertz},
      {"877 MHz", 877e6, Dimension::kHertz},
      {"2 GHz", 2e9, Dimension::kHertz},
      {"1 cycle", 1, Dimension::kCycles},
      {"425 cycles", 425, Dimension::kCycles},
      {"2 s", 2e6, Dimension::kMicroseconds},
      {"2 ms", 2e3, Dimension::kMicroseconds},
      {"5us", 5, Dimension::kMicroseconds},
      {"5 ns", 0.005, Dimension::kMicroseconds},
      {"7 B/s", 7, Dimension::kBytesPerSecond},
      {"1 KB/s", 1e3, Dimension::kBytesPerSecond},
      {"1 MB/s", 1e6, Dimension::kBytesPerSecond},
      {"900GB/s", 900e9, Dimension::kBytesPerSecond},
      {"1.5 TB/s", 1.5e12, Dimension::kBytesPerSecond},
      {"7 FLOP/s", 7, Dimension::kFlopsPerSecond},
      {"1 kFLOP/s", 1e3, Dimension::kFlopsPerSecond},
      {"1 MFLOP/s", 1e6, Dimension::kFlopsPerSecond},
      {"1 GFLOP/s", 1e9, Dimension::kFlopsPerSecond},
      {"15.5 TFLOP/s", 15.5e12, Dimension::kFlopsPerSecond},
      {"1 PFLOP/s", 1e15, Dimension::kFlopsPerSecond},
      {"826 mm2", 826, Dimension::kSquareMillimeters},
      {"0.17 um2", 0.17e-6, Dimension::kSquareMillimeters},
      {"9346 USD", 9346, Dimension::kDollars},
  };
  return all;
}

TEST(ParseQuantity, ReadsEveryUnit) {
  for (const QuantityText& r : readings()) {
    const Quantity q = parse_quantity(r.text).value_or(Quantity{});
    EXPECT_DOUBLE_EQ(q.value, r.value) << r.text;
    EXPECT_EQ(q.dimension, r.dimension) << r.text;
  }
}

TEST(ParseQuantity, ReadsNothingElse) {
  for (const char* text :
       {"",      "B",    "96",   "96 ",   " 96 B", "96 B ",  "96 K", "96 kib",  "96 KiB/s", "9 6 B",
        "1,5 B", ".5 B", "+5 B", "inf B", "nan B", "0x10 B", "1e B", "1e999 B", "96\tB",    "96 B B"})
    EXPECT_FALSE(parse_quantity(text)) << text;
}

TEST(PatternOf, MatchesWhatIsReadInItsDimensionOnly) {
  for (const Dimension d : kAll) {
    const std::regex pattern{std::string(pattern_of(d))};
    for (const auto& r : readings()) EXPECT_EQ(std::regex_search(r.text, pattern), r.dimension == d) << r.text;
  }
}

RC_GTEST_PROP(PatternOfProperty, AgreesWithTheParser, ()) {
  const auto piece = rc::gen::element<std::string>("1", "0", "25", ".", "e", "E", "+", "-", " ", "B", "K", "Ki", "KiB",
                                                   "bit", "Hz", "G", "cycle", "s", "us", "/s", "FLOP", "T");
  std::string text = *rc::gen::element<std::string>("1", "12", "1.5", "2e3", "");
  for (const std::string& p : *rc::gen::container<std::vector<std::string>>(piece)) text += p;
  // A number beyond double matches and is refused: no pattern says that better.
  RC_PRE(!std::regex_search(text, std::regex("[eE][-+]?[0-9]{3}")));
  const auto q = parse_quantity(text);
  for (const Dimension d : kAll) {
    const bool matches = std::regex_search(text, std::regex{std::string(pattern_of(d))});
    RC_ASSERT(matches == (q && q->dimension == d && text[0] != '-'));
  }
}

template <class Read>
std::string error_of(Value value, Read read) {
  Diagnostics diags;
  value.at = {diags.add_source("in"), 3, 7};
  const auto result = read(&value, "x", diags);
  EXPECT_EQ(result.has_value(), diags.ok());
  return diags.ok() ? "accepted" : diags.formatted_errors().at(0);
}

TEST(AsQuantity, ReadsEachDimension) {
  Diagnostics diags;
  const auto text = [](const char* t) { return Value(t); };
  const Value bytes = text("96 KiB"), hertz = text("1.38 GHz"), cycles = text("425 cycles"), time = text("5 us"),
              bandwidth = text("900 GB/s"), speed = text("15.7 TFLOP/s"), area = text("2 um2"),
              price = text("16988 USD");
  EXPECT_EQ(as_bytes(&bytes, "x", diags), Bytes{98304});
  EXPECT_EQ(as_hertz(&hertz, "x", diags), Hertz{1'380'000'000});
  EXPECT_EQ(as_cycles(&cycles, "x", diags), Cycles{425});
  EXPECT_EQ(as_microseconds(&time, "x", diags), Microseconds{5});
  EXPECT_EQ(as_bytes_per_second(&bandwidth, "x", diags), BytesPerSecond{900e9});
  EXPECT_EQ(as_flops_per_second(&speed, "x", diags), FlopsPerSecond{15.7e12});
  EXPECT_EQ(as_square_millimeters(&area, "x", diags), SquareMillimeters{2e-6});
  EXPECT_EQ(as_dollars(&price, "x", diags), Dollars{16988});
  EXPECT_TRUE(diags.ok());
}

TEST(AsQuantity, AbsentReadsAsNothingWithoutAnError) {
  Diagnostics diags;
  EXPECT_EQ(as_bytes(nullptr, "x", diags), std::nullopt);
  EXPECT_EQ(as_microseconds(nullptr, "x", diags), std::nullopt);
  EXPECT_TRUE(diags.ok());
}

TEST(AsQuantity, WantsAUnit) {
  EXPECT_EQ(error_of(96, as_bytes),
            "in:3:7: x: expected an amount of bytes such as '96 KiB', got the number 96; a unit is missing");
  EXPECT_EQ(error_of(1.5, as_hertz),
            "in:3:7: x: expected a frequency such as '1.38 GHz', got the number 1.5; a unit is missing");
  EXPECT_EQ(error_of("425", as_cycles),
            "in:3:7: x: expected a number of cycles such as '425 cycles', got the text '425'; a unit is missing");
}

TEST(AsQuantity, SuggestsAUnit) {
  EXPECT_EQ(error_of("96 KIB", as_bytes),
            "in:3:7: x: expected an amount of bytes such as '96 KiB', got the text '96 KIB'; did you mean 'KiB'?");
  EXPECT_EQ(error_of("900 gb/s", as_bytes_per_second),
            "in:3:7: x: expected a rate of bytes such as '900 GB/s', got the text '900 gb/s'; did you mean 'GB/s'?");
  EXPECT_EQ(
      error_of("4 cycels", as_cycles),
      "in:3:7: x: expected a number of cycles such as '425 cycles', got the text '4 cycels'; did you mean 'cycles'?");
  EXPECT_EQ(error_of("4 parsecs", as_microseconds),
            "in:3:7: x: expected a time such as '5 us', got the text '4 parsecs'");
}

TEST(AsQuantity, WantsItsOwnDimension) {
  EXPECT_EQ(error_of("96 KiB", as_bytes_per_second),
            "in:3:7: x: expected a rate of bytes such as '900 GB/s', got the text '96 KiB'");
  EXPECT_EQ(error_of("1 GHz", as_flops_per_second),
            "in:3:7: x: expected a rate of operations such as '15.7 TFLOP/s', got the text '1 GHz'");
  EXPECT_EQ(error_of("many", as_bytes), "in:3:7: x: expected an amount of bytes such as '96 KiB', got the text 'many'");
  EXPECT_EQ(error_of(List{}, as_microseconds), "in:3:7: x: expected a time such as '5 us', got a list");
}

TEST(AsQuantity, WantsWholeCounts) {
  EXPECT_EQ(error_of("63 bit", as_bytes), "in:3:7: x: expected a whole number of bytes, got the text '63 bit'");
  EXPECT_EQ(error_of("0.1 KiB", as_bytes), "in:3:7: x: expected a whole number of bytes, got the text '0.1 KiB'");
  EXPECT_EQ(error_of("0.5 Hz", as_hertz), "in:3:7: x: expected a whole number of Hz, got the text '0.5 Hz'");
  EXPECT_EQ(error_of("4.5 cycles", as_cycles),
            "in:3:7: x: expected a whole number of cycles, got the text '4.5 cycles'");
  EXPECT_EQ(error_of("0.1 KB", as_bytes), "accepted");
  EXPECT_EQ(error_of("0.5 us", as_microseconds), "accepted");
}

TEST(AsQuantity, ForgivesTheRoundingOfDoubles) {
  Diagnostics diags;
  const Value odd = "1.005 GHz";  // as a double 1004999999.9999999
  EXPECT_EQ(as_hertz(&odd, "x", diags), Hertz{1'005'000'000});
  EXPECT_EQ(error_of("1000.001 B", as_bytes), "in:3:7: x: expected a whole number of bytes, got the text '1000.001 B'");
}

TEST(AsQuantity, WantsMoreThanZero) {
  EXPECT_EQ(error_of("0 B", as_bytes), "in:3:7: x: expected more than zero, got the text '0 B'");
  EXPECT_EQ(error_of("-4 KiB", as_bytes), "in:3:7: x: expected more than zero, got the text '-4 KiB'");
  EXPECT_EQ(error_of("0 us", as_microseconds), "in:3:7: x: expected more than zero, got the text '0 us'");
}

TEST(AsQuantity, WantsWhatFits64Bits) {
  EXPECT_EQ(error_of("9223372036854775808 B", as_bytes),
            "in:3:7: x: expected less than 2^63 bytes, got the text '9223372036854775808 B'");
  EXPECT_EQ(error_of("4294967296 cycles", as_cycles),
            "in:3:7: x: expected less than 2^32 cycles, got the text '4294967296 cycles'");
  EXPECT_EQ(error_of("4294967295 cycles", as_cycles), "accepted");
  EXPECT_EQ(error_of("4295 s", as_microseconds), "in:3:7: x: expected less than 2^32 us, got the text '4295 s'");
  EXPECT_EQ(error_of("9223372036854774784 B", as_bytes), "accepted") << "the largest double below 2^63";
  EXPECT_EQ(error_of("1e300 TB/s", as_bytes_per_second),
            "in:3:7: x: expected less than 2^63 B/s, got the text '1e300 TB/s'");
}

RC_GTEST_PROP(AsQuantityProperty, WholeBytesAreExact, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 53);
  const Value text = std::to_string(n) + *rc::gen::element<std::string>(" B", "B");
  Diagnostics diags;
  RC_ASSERT(as_bytes(&text, "x", diags) == Bytes{n});
}

}  // namespace
}  // namespace tilescope::base
