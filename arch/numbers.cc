// SPDX-License-Identifier: Apache-2.0
#include "arch/numbers.h"

#include <array>
#include <cmath>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "arch/detail/describe.h"

namespace tilescope::arch {
namespace {

using base::Dimension;

struct Unit {
  double size;
  std::string_view name;
};

// The largest unit that writes a value in few digits comes first; the last one writes every value.
constexpr std::array kBytes = {Unit{0x1p30, "GiB"}, Unit{0x1p20, "MiB"}, Unit{0x1p10, "KiB"}, Unit{1, "B"}};
constexpr std::array kHertz = {Unit{1e9, "GHz"}, Unit{1e6, "MHz"}, Unit{1e3, "kHz"}, Unit{1, "Hz"}};
constexpr std::array kByteRates = {Unit{1e9, "GB/s"}};
constexpr std::array kFlopRates = {Unit{1e12, "TFLOP/s"}};

std::string text_of(double value, const Unit& unit) { return fmt::format("{:.12g} {}", value / unit.size, unit.name); }

std::string bytes_text(double value) {
  for (const Unit& u : kBytes)
    if (std::fmod(value, u.size) == 0) return text_of(value, u);
  return text_of(value, kBytes.back());
}

std::string hertz_text(double value) {
  for (const Unit& u : kHertz)
    if (value >= u.size) return text_of(value, u);
  return text_of(value, kHertz.back());
}

std::string quantity_text(double value, Dimension dimension) {
  switch (dimension) {
    case Dimension::kBytes:
      return bytes_text(value);
    case Dimension::kHertz:
      return hertz_text(value);
    case Dimension::kBytesPerSecond:
      return text_of(value, kByteRates.front());
    case Dimension::kFlopsPerSecond:
      return text_of(value, kFlopRates.front());
    default:
      return text_of(value, {1, unit_of(dimension)});
  }
}

// The visitor that collects the numbers of one map.
class NumberCollector {
 public:
  NumberCollector(std::string prefix, bool computes, std::vector<Number>& to)
      : prefix_(std::move(prefix)), computes_(computes), to_(to) {}

  template <class T>
  void field(const Key& key, T&& member) {
    if (is_there(key)) take(path_of(key.name), member);
  }
  template <class T>
  void part(const Key& key, T&& member) {
    if (is_there(key)) collect(path_of(key.name), member);
  }
  template <class T>
  void part(const Key& key, std::optional<T>& member) {
    if (member) part(key, *member);
  }
  void part(const Key&, Baselines&) {}
  void part(const Key&, std::optional<DieSpec>&) {}
  void part(const Key&, ShapeFields) {}
  void part(const Key&, std::optional<HeldLevel>&) {}
  template <class T>
  void list(const Key& key, std::vector<T>& members) {
    for (T& member : members) collect(fmt::format("{}.{}", path_of(key.name), member.name), member);
  }
  void levels(const Key& key, std::vector<Level>& levels) {
    for (Level& level : levels) {
      NumberCollector inner(fmt::format("{}.{}", path_of(key.name), spec_of(level).name), computes_, to_);
      std::visit([&](auto& l) { describe_level(inner, l); }, level);
    }
  }
  template <class T>
  void entries(const Key&, std::map<std::string, T>&) {}
  void entries(const Key& key, std::map<std::string, OperationEnergy>& energies) { collect_each(key, energies); }
  void entries(const Key& key, std::map<std::string, LevelEnergy>& energies) { collect_each(key, energies); }
  template <class T>
  void fallback(T&, T) {}

 private:
  bool is_there(const Key& key) const { return !only_computing(key.need) || computes_; }

  std::string path_of(std::string_view key) const {
    return prefix_.empty() ? std::string(key) : fmt::format("{}.{}", prefix_, key);
  }

  template <class T>
  void collect(std::string path, T& member) {
    NumberCollector inner(std::move(path), computes_, to_);
    describe(inner, member);
  }

  template <class T>
  void collect_each(const Key& key, std::map<std::string, T>& members) {
    for (auto& [name, member] : members) collect(fmt::format("{}.{}", path_of(key.name), name), member);
  }

  void add(std::string path, double value, std::optional<Dimension> dimension, bool whole) {
    if (value > 0) to_.push_back({std::move(path), value, dimension, whole});
  }

  // clang-format off
  void take(const std::string&, const std::string&) {}
  void take(const std::string&, const std::vector<std::string>&) {}
  void take(const std::string&, const FragmentMap&) {}
  void take(const std::string&, bool) {}
  template <class E> requires std::is_enum_v<E> void take(const std::string&, E) {}
  void take(std::string p, std::int64_t v) { add(std::move(p), static_cast<double>(v), {}, true); }
  void take(std::string p, double v) { add(std::move(p), v, {}, false); }
  void take(std::string p, Bytes v) { add(std::move(p), static_cast<double>(v.n), Dimension::kBytes, true); }
  void take(std::string p, Hertz v) { add(std::move(p), static_cast<double>(v.n), Dimension::kHertz, true); }
  void take(std::string p, Cycles v) { add(std::move(p), static_cast<double>(v.n), Dimension::kCycles, true); }
  void take(std::string p, Microseconds v) { add(std::move(p), v.v, Dimension::kMicroseconds, false); }
  void take(std::string p, BytesPerSecond v) { add(std::move(p), v.v, Dimension::kBytesPerSecond, false); }
  void take(std::string p, FlopsPerSecond v) { add(std::move(p), v.v, Dimension::kFlopsPerSecond, false); }
  void take(std::string p, Volts v) { add(std::move(p), v.v, Dimension::kVolts, false); }
  void take(std::string p, Watts v) { add(std::move(p), v.v, Dimension::kWatts, false); }
  void take(std::string p, Picojoules v) { add(std::move(p), v.v, Dimension::kPicojoules, false); }
  void take(std::string p, PicojoulesPerByte v) { add(std::move(p), v.v, Dimension::kPicojoulesPerByte, false); }
  void take(std::string p, WattsPerSquareVolt v) { add(std::move(p), v.v, Dimension::kWattsPerSquareVolt, false); }
  void take(std::string p, WattsPerSquareVoltGigahertz v) {
    add(std::move(p), v.v, Dimension::kWattsPerSquareVoltGigahertz, false);
  }
  void take(const std::string&, const VoltageCurve&) {}
  // clang-format on
  template <class T>
  void take(std::string p, const std::optional<T>& v) {
    if (v) take(std::move(p), *v);
  }
  void take(std::string p, const TimingSlot& v) {
    const auto found = v.timing.find(std::string(v.name));
    if (found != v.timing.end()) take(std::move(p), found->second);
  }

  std::string prefix_;
  bool computes_;
  std::vector<Number>& to_;
};

}  // namespace

std::string_view unit_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kBytes:
      return "B";
    case Dimension::kHertz:
      return "Hz";
    case Dimension::kCycles:
      return "cycles";
    case Dimension::kMicroseconds:
      return "us";
    case Dimension::kBytesPerSecond:
      return "B/s";
    case Dimension::kFlopsPerSecond:
      return "FLOP/s";
    case Dimension::kVolts:
      return "V";
    case Dimension::kWatts:
      return "W";
    case Dimension::kPicojoules:
      return "pJ";
    case Dimension::kPicojoulesPerByte:
      return "pJ/B";
    case Dimension::kWattsPerSquareVolt:
      return "W/V2";
    case Dimension::kWattsPerSquareVoltGigahertz:
      return "W/V2/GHz";
    case Dimension::kSquareMillimeters:
      return "mm2";
    case Dimension::kDollars:
      return "USD";
  }
  return {};
}

std::vector<Number> numbers_of(const ArchSpec& a) {
  ArchSpec members = a;  // visitors take members they could fill
  std::vector<Number> out;
  NumberCollector collector({}, a.chip_class != ChipClass::kMemory, out);
  describe(collector, members);
  return out;
}

base::Value written(const Number& number, double value) {
  if (number.dimension) return quantity_text(value, *number.dimension);
  return number.whole ? base::Value(static_cast<std::int64_t>(value)) : base::Value(value);
}

Override set_to(const Number& number, double value) {
  const base::Value text = written(number, value);
  const auto* quantity = text.get_if<std::string>();
  return {number.path, quantity != nullptr ? *quantity : base::to_json(text)};
}

}  // namespace tilescope::arch
