// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilescope::base {
namespace {

struct Unit {
  std::string_view name;
  double factor;  // in the base unit of the dimension
  Dimension dimension;
};

constexpr double kKi = 1024;

constexpr auto kUnits = std::to_array<Unit>({
    {"B", 1, Dimension::kBytes},
    {"KB", 1e3, Dimension::kBytes},
    {"MB", 1e6, Dimension::kBytes},
    {"GB", 1e9, Dimension::kBytes},
    {"TB", 1e12, Dimension::kBytes},
    {"KiB", kKi, Dimension::kBytes},
    {"MiB", kKi* kKi, Dimension::kBytes},
    {"GiB", kKi* kKi* kKi, Dimension::kBytes},
    {"TiB", kKi* kKi* kKi* kKi, Dimension::kBytes},
    {"bit", 0.125, Dimension::kBytes},
    {"Hz", 1, Dimension::kHertz},
    {"kHz", 1e3, Dimension::kHertz},
    {"MHz", 1e6, Dimension::kHertz},
    {"GHz", 1e9, Dimension::kHertz},
    {"cycle", 1, Dimension::kCycles},
    {"cycles", 1, Dimension::kCycles},
    {"s", 1e6, Dimension::kMicroseconds},
    {"ms", 1e3, Dimension::kMicroseconds},
    {"us", 1, Dimension::kMicroseconds},
    {"ns", 1e-3, Dimension::kMicroseconds},
    {"B/s", 1, Dimension::kBytesPerSecond},
    {"KB/s", 1e3, Dimension::kBytesPerSecond},
    {"MB/s", 1e6, Dimension::kBytesPerSecond},
    {"GB/s", 1e9, Dimension::kBytesPerSecond},
    {"TB/s", 1e12, Dimension::kBytesPerSecond},
    {"FLOP/s", 1, Dimension::kFlopsPerSecond},
    {"kFLOP/s", 1e3, Dimension::kFlopsPerSecond},
    {"MFLOP/s", 1e6, Dimension::kFlopsPerSecond},
    {"GFLOP/s", 1e9, Dimension::kFlopsPerSecond},
    {"TFLOP/s", 1e12, Dimension::kFlopsPerSecond},
    {"PFLOP/s", 1e15, Dimension::kFlopsPerSecond},
    {"V", 1, Dimension::kVolts},
    {"mV", 1e-3, Dimension::kVolts},
    {"W", 1, Dimension::kWatts},
    {"mW", 1e-3, Dimension::kWatts},
    {"pJ", 1, Dimension::kPicojoules},
    {"nJ", 1e3, Dimension::kPicojoules},
    {"fJ", 1e-3, Dimension::kPicojoules},
    {"pJ/B", 1, Dimension::kPicojoulesPerByte},
    {"pJ/bit", 8, Dimension::kPicojoulesPerByte},
    {"W/V2", 1, Dimension::kWattsPerSquareVolt},
    {"mW/V2", 1e-3, Dimension::kWattsPerSquareVolt},
    {"W/V2/GHz", 1, Dimension::kWattsPerSquareVoltGigahertz},
    {"mW/V2/GHz", 1e-3, Dimension::kWattsPerSquareVoltGigahertz},
    {"mm2", 1, Dimension::kSquareMillimeters},
    {"um2", 1e-6, Dimension::kSquareMillimeters},
    {"USD", 1, Dimension::kDollars},
});

struct DimensionText {
  std::string_view base_unit;
  std::string_view example;
  int bits = 63;  // amounts are less than two to this
};

// An hour as one latency: sums of what a program waits for then stay within 64 bits.
constexpr int kBitsOfTime = 32;

// In the order of Dimension.
constexpr auto kDimensions = std::to_array<DimensionText>({
    {"bytes", "an amount of bytes such as '96 KiB'"},
    {"Hz", "a frequency such as '1.38 GHz'"},
    {"cycles", "a number of cycles such as '425 cycles'", kBitsOfTime},
    {"us", "a time such as '5 us'", kBitsOfTime},
    {"B/s", "a rate of bytes such as '900 GB/s'"},
    {"FLOP/s", "a rate of operations such as '15.7 TFLOP/s'"},
    {"V", "a voltage such as '0.8 V'"},
    {"W", "a power such as '250 W'"},
    {"pJ", "an energy such as '30 pJ'"},
    {"pJ/B", "an energy of a byte such as '1.4 pJ/B'"},
    {"W/V2", "a power of a square volt such as '0.36 W/V2'"},
    {"W/V2/GHz", "a power of a square volt and a gigahertz such as '0.09 W/V2/GHz'"},
    {"mm2", "an area such as '826 mm2'"},
    {"USD", "an amount of money such as '9346 USD'"},
});

const DimensionText& text_of(Dimension d) { return kDimensions[static_cast<std::size_t>(d)]; }

std::vector<std::string_view> units_of(Dimension d) {
  std::vector<std::string_view> names;
  for (const Unit& u : kUnits)
    if (u.dimension == d) names.push_back(u.name);
  return names;
}

struct NumberAndUnit {
  double number;
  std::string_view unit;  // not yet known to be one; empty where there is none
};

std::optional<NumberAndUnit> split(std::string_view text) {
  // from_chars also reads "inf", "nan" and ".5", which no user means here.
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (text.size() <= first || text[first] < '0' || text[first] > '9') return std::nullopt;
  NumberAndUnit out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  out.unit = text.substr(std::min(text.find_first_not_of(' '), text.size()));
  return out;
}

const Unit* find_unit(std::string_view name) {
  const auto u =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& candidate) { return candidate.name == name; });
  return u == kUnits.end() ? nullptr : &*u;
}

std::optional<Quantity> quantity_of(const NumberAndUnit& parts) {
  const Unit* unit = find_unit(parts.unit);
  if (unit == nullptr) return std::nullopt;
  return Quantity{parts.number * unit->factor, unit->dimension};
}

// What may be wrong with a unit of the dimension: it is missing, misspelt, or just spelt in other cases.
std::string unit_hint(std::string_view unit, Dimension d) {
  if (unit.empty()) return "; a unit is missing";
  if (find_unit(unit) != nullptr) return {};
  const auto same_letter = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  const std::vector<std::string_view> known = units_of(d);
  for (const std::string_view name : known)
    if (std::equal(name.begin(), name.end(), unit.begin(), unit.end(), same_letter))
      return fmt::format("; did you mean '{}'?", name);
  return did_you_mean(unit, known);
}

// The positive amount within the dimension's bits, in the base unit of the dimension.
std::optional<double> read(const Value* v, std::string_view name, Dimension d, Diagnostics& diags) {
  if (v == nullptr) return std::nullopt;
  const auto refuse = [&](std::string_view wanted, std::string_view hint) {
    diags.error(v->at, fmt::format("{}: expected {}, got {}{}", name, wanted, v->describe(), hint));
    return std::nullopt;
  };
  const bool bare_number = v->get_if<std::int64_t>() != nullptr || v->get_if<double>() != nullptr;
  if (bare_number) return refuse(example_of(d), unit_hint({}, d));
  const auto* text = v->get_if<std::string>();
  const auto parts = text == nullptr ? std::nullopt : split(*text);
  if (!parts) return refuse(example_of(d), {});
  const auto quantity = quantity_of(*parts);
  if (!quantity || quantity->dimension != d) return refuse(example_of(d), unit_hint(parts->unit, d));
  if (quantity->value <= 0) return refuse("more than zero", {});
  if (quantity->value >= std::ldexp(1.0, text_of(d).bits))
    return refuse(fmt::format("less than 2^{} {}", text_of(d).bits, text_of(d).base_unit), {});
  return quantity->value;
}

template <class Count>
std::optional<Count> read_count(const Value* v, std::string_view name, Dimension d, Diagnostics& diags) {
  const std::optional<double> value = read(v, name, d, diags);
  if (!value) return std::nullopt;
  constexpr double kRounding = 1e-9;  // what "1.38 GHz" may lose on its way through a double, and more
  const double whole = std::round(*value);
  if (std::abs(*value - whole) > kRounding * *value) {
    const std::string_view unit = text_of(d).base_unit;
    diags.error(v->at, fmt::format("{}: expected a whole number of {}, got {}", name, unit, v->describe()));
    return std::nullopt;
  }
  return Count{static_cast<std::int64_t>(whole)};
}

template <class Amount>
std::optional<Amount> read_amount(const Value* v, std::string_view name, Dimension d, Diagnostics& diags) {
  const std::optional<double> value = read(v, name, d, diags);
  return value ? std::optional(Amount{*value}) : std::nullopt;
}

std::string make_pattern(Dimension d) {
  return fmt::format("^[0-9]+([.][0-9]*)?([eE][-+]?[0-9]+)? *({})$", fmt::join(units_of(d), "|"));
}

}  // namespace

std::optional<Quantity> parse_quantity(std::string_view text) {
  const auto parts = split(text);
  return parts ? quantity_of(*parts) : std::nullopt;
}

std::string_view example_of(Dimension d) { return text_of(d).example; }

std::string_view pattern_of(Dimension d) {
  static const auto kPatterns = [] {
    std::array<std::string, kDimensions.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = make_pattern(static_cast<Dimension>(i));
    return all;
  }();
  return kPatterns[static_cast<std::size_t>(d)];
}

std::optional<Bytes> as_bytes(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_count<Bytes>(v, name, Dimension::kBytes, diags);
}
std::optional<Hertz> as_hertz(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_count<Hertz>(v, name, Dimension::kHertz, diags);
}
std::optional<Cycles> as_cycles(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_count<Cycles>(v, name, Dimension::kCycles, diags);
}
std::optional<Microseconds> as_microseconds(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_amount<Microseconds>(v, name, Dimension::kMicroseconds, diags);
}
std::optional<BytesPerSecond> as_bytes_per_second(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_amount<BytesPerSecond>(v, name, Dimension::kBytesPerSecond, diags);
}
std::optional<FlopsPerSecond> as_flops_per_second(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_amount<FlopsPerSecond>(v, name, Dimension::kFlopsPerSecond, diags);
}
std::optional<Volts> as_volts(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_amount<Volts>(v, name, Dimension::kVolts, diags);
}
std::optional<Watts> as_watts(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_amount<Watts>(v, name, Dimension::kWatts, diags);
}
std::optional<Picojoules> as_picojoules(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_amount<Picojoules>(v, name, Dimension::kPicojoules, diags);
}
std::optional<PicojoulesPerByte> as_picojoules_per_byte(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_amount<PicojoulesPerByte>(v, name, Dimension::kPicojoulesPerByte, diags);
}
std::optional<WattsPerSquareVolt> as_watts_per_square_volt(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_amount<WattsPerSquareVolt>(v, name, Dimension::kWattsPerSquareVolt, diags);
}
std::optional<WattsPerSquareVoltGigahertz> as_watts_per_square_volt_gigahertz(const Value* v, std::string_view name,
                                                                              Diagnostics& diags) {
  return read_amount<WattsPerSquareVoltGigahertz>(v, name, Dimension::kWattsPerSquareVoltGigahertz, diags);
}
std::optional<SquareMillimeters> as_square_millimeters(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_amount<SquareMillimeters>(v, name, Dimension::kSquareMillimeters, diags);
}
std::optional<Dollars> as_dollars(const Value* v, std::string_view name, Diagnostics& diags) {
  return read_amount<Dollars>(v, name, Dimension::kDollars, diags);
}

std::optional<double> as_quantity(const Value* v, std::string_view name, Dimension dimension, Diagnostics& diags) {
  const auto whole = [](const auto& count) {
    return count ? std::optional(static_cast<double>(count->n)) : std::nullopt;
  };
  switch (dimension) {
    case Dimension::kBytes:
      return whole(as_bytes(v, name, diags));
    case Dimension::kHertz:
      return whole(as_hertz(v, name, diags));
    case Dimension::kCycles:
      return whole(as_cycles(v, name, diags));
    default:
      return read(v, name, dimension, diags);
  }
}

}  // namespace tilescope::base
