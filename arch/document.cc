// SPDX-License-Identifier: Apache-2.0
// A chip as `arch show` prints it: every cause under its key with the unit in the name, and what is derived from it.

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/detail/describe.h"
#include "arch/load.h"

namespace tilescope::arch {
namespace {

using base::List;
using base::Map;
using base::Value;

void add(Map& map, std::string_view key, std::string_view unit, Value value) {
  map.push_back({fmt::format("{}{}", key, unit), std::move(value)});
}

// clang-format off
void write(Map& to, std::string_view key, const std::string& v) { add(to, key, "", v); }
void write(Map& to, std::string_view key, const FragmentMap& v) { add(to, key, "", text_of(v)); }
void write(Map& to, std::string_view key, const std::vector<std::string>& v) {
  add(to, key, "", List(v.begin(), v.end()));
}
void write(Map& to, std::string_view key, std::int64_t v) { add(to, key, "", v); }
void write(Map& to, std::string_view key, double v) { add(to, key, "", v); }
void write(Map& to, std::string_view key, const Positive& v) { add(to, key, "", v.value); }
void write(Map& to, std::string_view key, bool v) { add(to, key, "", v); }
void write(Map& to, std::string_view key, Bytes v) { add(to, key, "_bytes", v.n); }
void write(Map& to, std::string_view key, Hertz v) { add(to, key, "_hz", v.n); }
void write(Map& to, std::string_view key, Cycles v) { add(to, key, "_cycles", v.n); }
void write(Map& to, std::string_view key, Microseconds v) { add(to, key, "_us", v.v); }
void write(Map& to, std::string_view key, BytesPerSecond v) { add(to, key, "_gbps", v.v / 1e9); }
void write(Map& to, std::string_view key, FlopsPerSecond v) { add(to, key, "_gflops", v.v / 1e9); }
void write(Map& to, std::string_view key, Volts v) { add(to, key, "_v", v.v); }
void write(Map& to, std::string_view key, Watts v) { add(to, key, "_w", v.v); }
void write(Map& to, std::string_view key, Picojoules v) { add(to, key, "_pj", v.v); }
void write(Map& to, std::string_view key, PicojoulesPerByte v) { add(to, key, "_pj_per_byte", v.v); }
void write(Map& to, std::string_view key, WattsPerSquareVolt v) { add(to, key, "_w_per_v2", v.v); }
void write(Map& to, std::string_view key, WattsPerSquareVoltGigahertz v) { add(to, key, "_w_per_v2_ghz", v.v); }
void write(Map& to, std::string_view key, const VoltageCurve& v) { write(to, key, texts_of(v)); }
void write(Map& to, std::string_view key, base::SquareMillimeters v) { add(to, key, "_mm2", v.v); }
// clang-format on

template <class E>
  requires std::is_enum_v<E>
void write(Map& to, std::string_view key, E v) {
  add(to, key, "", name_of_choice(v));
}
template <class T>
void write(Map& to, std::string_view key, const std::optional<T>& v) {
  if (v) write(to, key, *v);
}
template <class Amount>
void write(Map& to, std::string_view key, const Scaled<Amount>& v) {
  write(to, key, Amount{v.value * v.unit});
}
void write(Map& to, std::string_view key, const TimingSlot& v) {
  const auto found = v.timing.find(std::string(v.name));
  if (found != v.timing.end()) write(to, key, found->second);
}

// The visitor that writes one map.
class DocumentWriter {
 public:
  explicit DocumentWriter(const ArchSpec& chip) : chip_(chip) {}

  template <class T>
  void field(const Key& key, T&& member) {
    if (is_there(key)) write(map_, key.name, member);
  }
  template <class T>
  void part(const Key& key, T&& member) {
    Map inner = map_of(member);
    if (is_there(key) && !inner.empty()) add(map_, key.name, "", std::move(inner));
  }
  template <class T>
  void part(const Key& key, std::optional<T>& member) {
    if (member) part(key, *member);
  }
  void part(const Key& key, std::optional<LinkSpec>& link) {
    if (!link) return;
    Map derived;
    write(derived, "bandwidth", bandwidth_of(chip_, *link));
    Map inner = map_of(*link);
    add(inner, "derived", "", std::move(derived));
    add(map_, key.name, "", std::move(inner));
  }
  void list(const Key& key, std::vector<ComputeSpec>& units) {
    List items;
    for (ComputeSpec& unit : units) {
      Map item = map_of(unit);
      Map derived;
      write(derived, "peak", peak_of(chip_, unit));
      add(item, "derived", "", std::move(derived));
      items.emplace_back(std::move(item));
    }
    if (is_there(key)) add(map_, key.name, "", std::move(items));
  }
  void list(const Key& key, std::vector<PipeSpec>& pipes) {
    List items;
    for (PipeSpec& pipe : pipes) items.emplace_back(map_of(pipe));
    if (!items.empty()) add(map_, key.name, "", std::move(items));
  }
  void levels(const Key& key, std::vector<Level>& levels);
  template <class T>
  void entries(const Key& key, std::map<std::string, T>& members) {
    Map entries;
    for (auto& [name, member] : members) add(entries, name, "", map_of(member));
    if (!entries.empty()) add(map_, key.name, "", std::move(entries));
  }
  template <class T>
  void fallback(T&, T) {}

  Map take() { return std::move(map_); }

 private:
  bool is_there(const Key& key) const { return !only_computing(key.need) || chip_.chip_class != ChipClass::kMemory; }

  template <class T>
  Map map_of(T& member) const {
    DocumentWriter inner(chip_);
    describe(inner, member);
    return inner.take();
  }

  const ArchSpec& chip_;
  Map map_;
};

Map derived_of(const ArchSpec& chip, const Level& level) {
  Map derived;
  if (const auto* registers = std::get_if<RegisterLevel>(&level)) {
    write(derived, "registers_per_core", registers_per_core(*registers));
    return derived;
  }
  write(derived, "bandwidth", bandwidth_of(chip, level));
  if (spec_of(level).scope == Scope::kCore) {
    if (const auto* cache = std::get_if<CacheLevel>(&level))
      add(derived, "per_core_cycle", "_bytes", bytes_per_core_cycle(chip, *cache));
    if (const auto* tensor = std::get_if<TensorLevel>(&level)) write(derived, "columns", tensor_columns(*tensor));
    if (const auto* scratchpad = std::get_if<ScratchpadLevel>(&level))
      add(derived, "per_core_cycle", "_bytes", bytes_per_core_cycle(chip, *scratchpad));
  }
  write(derived, "transaction", transaction_of(level));
  return derived;
}

void DocumentWriter::levels(const Key& key, std::vector<Level>& levels) {
  Map entries;
  for (Level& level : levels) {
    DocumentWriter inner(chip_);
    std::visit([&](auto& l) { describe_level(inner, l); }, level);
    Map entry = inner.take();
    add(entry, "derived", "", derived_of(chip_, level));
    add(entries, spec_of(level).name, "", std::move(entry));
  }
  add(map_, key.name, "", std::move(entries));
}

}  // namespace

Value to_document(const ArchSpec& a) {
  ArchSpec members = a;  // visitors take members they could fill
  DocumentWriter writer(a);
  describe(writer, members);
  return writer.take();
}

}  // namespace tilescope::arch
