// SPDX-License-Identifier: Apache-2.0
#include "arch/detail/reader.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/detail/describe.h"
#include "arch/detail/shape.h"
#include "base/integer.h"
#include "base/quantity.h"

namespace tilescope::arch {
namespace {

using base::Diagnostics;
using base::Value;

// What a reading of one value needs besides the value.
struct Context {
  std::string path;
  Diagnostics& diags;
};

template <class T>
void store(std::optional<T> from, T& to) {
  if (from) to = std::move(*from);
}

// clang-format off
void read(const Value& v, const Context& c, bool& to) { store(as_bool(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, std::int64_t& to) { store(as_integer(&v, c.path, kCounts, c.diags), to); }
void read(const Value& v, const Context& c, Bytes& to) { store(as_bytes(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, Hertz& to) { store(as_hertz(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, Cycles& to) { store(as_cycles(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, Microseconds& to) { store(as_microseconds(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, BytesPerSecond& to) { store(as_bytes_per_second(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, FlopsPerSecond& to) { store(as_flops_per_second(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, Volts& to) { store(as_volts(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, Watts& to) { store(as_watts(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, Picojoules& to) { store(as_picojoules(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, PicojoulesPerByte& to) { store(as_picojoules_per_byte(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, WattsPerSquareVolt& to) { store(as_watts_per_square_volt(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, WattsPerSquareVoltGigahertz& to) { store(as_watts_per_square_volt_gigahertz(&v, c.path, c.diags), to); }
void read(const Value& v, const Context& c, base::SquareMillimeters& to) { store(as_square_millimeters(&v, c.path, c.diags), to); }
// clang-format on

void read(const Value& v, const Context& c, std::string& to) {
  const std::optional<std::string> text = as_text(&v, c.path, c.diags);
  if (text && text->empty()) c.diags.error(v.at, fmt::format("{}: expected a text, got an empty one", c.path));
  store(text, to);
}

void read(const Value& v, const Context& c, std::vector<std::string>& to) {
  const base::List* list = as_list(&v, c.path, c.diags);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i)
    read((*list)[i], {fmt::format("{}[{}]", c.path, i), c.diags}, to.emplace_back());
}

void read(const Value& v, const Context& c, FragmentMap& to) {
  const std::optional<std::string> text = as_text(&v, c.path, c.diags);
  if (!text) return;
  base::Diagnostics of_text;
  if (std::optional<FragmentMap> map = fragment_map_of(*text, of_text)) to = std::move(*map);
  for (const std::string& w : of_text.sentences()) c.diags.error(v.at, fmt::format("{}: {}", c.path, w));
}

void read(const Value& v, const Context& c, VoltageCurve& to) {
  std::vector<std::string> texts;
  const std::size_t before = c.diags.errors().size();
  read(v, c, texts);
  if (c.diags.errors().size() != before) return;
  base::Diagnostics of_texts;
  if (std::optional<VoltageCurve> curve = voltage_curve_of(texts, of_texts)) to = std::move(*curve);
  for (const std::string& w : of_texts.sentences()) c.diags.error(v.at, fmt::format("{}: {}", c.path, w));
}

// A ratio of two like amounts.
void read(const Value& v, const Context& c, double& to) {
  const std::optional<double> ratio = as_number(&v, c.path, c.diags);
  if (!ratio) return;
  if (*ratio > 0 && *ratio <= 2)
    to = *ratio;
  else
    c.diags.error(v.at, fmt::format("{}: expected a ratio above 0 and at most 2, got {}", c.path, v.describe()));
}

void read(const Value& v, const Context& c, const Positive& to) {
  const std::optional<double> number = as_number(&v, c.path, c.diags);
  if (!number) return;
  if (*number > 0 && std::isfinite(*number))
    to.value = *number;
  else
    c.diags.error(v.at, fmt::format("{}: expected a number above 0, got {}", c.path, v.describe()));
}

template <class E>
  requires std::is_enum_v<E>
void read(const Value& v, const Context& c, E& to) {
  if (const auto index = as_choice(&v, c.path, names_of<E>(), c.diags)) to = static_cast<E>(*index);
}

template <class T>
void read(const Value& v, const Context& c, std::optional<T>& to) {
  T value{};
  const std::size_t before = c.diags.errors().size();
  read(v, c, value);
  if (c.diags.errors().size() == before) to = std::move(value);
}

template <class Amount>
void read(const Value& v, const Context& c, const Scaled<Amount>& to) {
  Amount amount;
  read(v, c, amount);
  to.value = amount.v / to.unit;
}

// In whole picoseconds, in which JEDEC states times, so that a decimal fraction of a nanosecond is exact; nullopt where
// the time's microseconds, times the clock's Hz, are beyond 64 bits.
std::optional<Cycles> cycles_covering(Microseconds time, Hertz clock) {
  constexpr std::int64_t kMillion = 1'000'000;
  const auto picoseconds = std::llround(time.v * static_cast<double>(kMillion));
  const auto of_microseconds = base::checked_mul(picoseconds / kMillion, clock.n);
  if (!of_microseconds) return std::nullopt;
  const std::int64_t rest = *of_microseconds % kMillion * kMillion + picoseconds % kMillion * clock.n;
  return Cycles{*of_microseconds / kMillion + base::ceil_div(rest, kMillion * kMillion)};
}

void read(const Value& v, const Context& c, const TimingSlot& to) {
  std::optional<Cycles> cycles;
  const auto* text = v.get_if<std::string>();
  const auto quantity = text == nullptr ? std::nullopt : base::parse_quantity(*text);
  if (quantity && quantity->dimension == base::Dimension::kMicroseconds) {
    const std::optional<Microseconds> time = as_microseconds(&v, c.path, c.diags);
    if (!time || to.clock.n == 0) return;  // a clock that could not be read has its own error
    cycles = cycles_covering(*time, to.clock);
    if (!cycles)
      c.diags.error(v.at,
                    fmt::format("{}: {} is too long a time at a clock of {} Hz", c.path, v.describe(), to.clock.n));
  } else {
    read(v, c, cycles);
  }
  if (cycles) to.timing[std::string(to.name)] = *cycles;
}

// The visitor that reads one map.
class ChipReader {
 public:
  // `path` is empty for the chip itself.
  ChipReader(const Value& map, std::string path, const Layers& layers, Diagnostics& diags, bool computes)
      : map_(map),
        layers_(layers),
        path_(std::move(path)),
        diags_(diags),
        computes_(computes),
        fields_(map, path_.empty() ? "the chip" : path_, diags, {kRenamedKeys, path_}) {}

  template <class T>
  void field(const Key& key, T&& member) {
    if (const Value* v = find(key)) read(*v, {path_of(key.name), diags_}, member);
  }
  template <class T>
  void part(const Key& key, T&& member) {
    if (const Value* v = find(key)) read_map(*v, path_of(key.name), member);
  }
  template <class T>
  void part(const Key& key, std::optional<T>& member) {
    if (const Value* v = find(key)) read_map(*v, path_of(key.name), member.emplace());
  }
  template <class T>
  void list(const Key& key, std::vector<T>& members);
  void levels(const Key& key, std::vector<Level>& levels);
  template <class T>
  void entries(const Key& key, std::map<std::string, T>& members);
  template <class T>
  void fallback(T& member, T value) {
    member = value;
  }

  void finish() { fields_.finish(); }

 private:
  std::string path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  const Value* find(const Key& key) {
    const bool there = computes_ || !only_computing(key.need);
    if (there && (key.need == Need::kRequired || key.need == Need::kComputing)) return fields_.require(key.name);
    const Value* v = fields_.take(key.name);
    if (there) return v;
    if (v != nullptr) diags_.error(v->at, fmt::format("{}: a chip of class memory has none", path_of(key.name)));
    return nullptr;
  }

  template <class T>
  void read_map(const Value& map, std::string path, T& member) {
    ChipReader inner(map, std::move(path), layers_, diags_, computes_);
    if (!map.is_map()) return;
    describe(inner, member);
    inner.finish();
  }

  // The entries of a map whose keys are names; keys that occur twice are reported.
  const base::Map* names(const Key& key) {
    const Value* v = find(key);
    if (v == nullptr) return nullptr;
    const base::Fields report_duplicates(*v, path_of(key.name), diags_);
    return v->get_if<base::Map>();
  }

  // A level whose kind says what it may hold.
  template <class Spec>
  void read_level(const std::string& name, std::vector<Level>& levels);
  void refuse_keys_of_other_kinds(Kind kind);

  const Value& map_;
  const Layers& layers_;
  std::string path_;
  Diagnostics& diags_;
  bool computes_;
  base::Fields fields_;
};

template <class T>
void ChipReader::list(const Key& key, std::vector<T>& members) {
  const base::List* list = as_list(find(key), path_of(key.name), diags_);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Value* name = (*list)[i].find("name");
    const std::string* text = name == nullptr ? nullptr : name->get_if<std::string>();
    read_map((*list)[i], path_of(key.name) + (text == nullptr ? fmt::format("[{}]", i) : "." + *text),
             members.emplace_back());
  }
}

void ChipReader::levels(const Key& key, std::vector<Level>& levels) {
  const base::Map* entries = names(key);
  if (entries == nullptr) return;
  for (const base::Entry& e : *entries) {
    Value map = e.value;
    const Value* kind = map.find("kind");
    // Whose file changes the kind of a level makes its other keys wrong.
    if (kind != nullptr && layers_.height_of(*kind) > layers_.height_of(map)) map.at = kind->at;
    ChipReader inner(map, fmt::format("{}.{}", key.name, e.key), layers_, diags_, computes_);
    if (!map.is_map()) continue;
    kind = inner.fields_.require("kind");
    if (kind == nullptr) continue;
    const auto index = as_choice(kind, inner.path_of("kind"), names_of<Kind>(), diags_);
    if (!index) continue;  // which keys are wrong hangs on its kind
    switch (static_cast<Kind>(*index)) {
      case Kind::kDram:
        inner.read_level<DramLevel>(e.key, levels);
        break;
      case Kind::kCache:
        inner.read_level<CacheLevel>(e.key, levels);
        break;
      case Kind::kScratchpad:
        inner.read_level<ScratchpadLevel>(e.key, levels);
        break;
      case Kind::kRegister:
        inner.read_level<RegisterLevel>(e.key, levels);
        break;
      case Kind::kTensor:
        inner.read_level<TensorLevel>(e.key, levels);
        break;
    }
  }
}

template <class Spec>
void ChipReader::read_level(const std::string& name, std::vector<Level>& levels) {
  Spec level;
  level.name = name;
  describe_level(*this, level);
  levels.emplace_back(std::move(level));
  refuse_keys_of_other_kinds(kKindOf<Spec>);
  finish();
}

template <class T>
void ChipReader::entries(const Key& key, std::map<std::string, T>& members) {
  const base::Map* entries = names(key);
  if (entries == nullptr) return;
  for (const base::Entry& e : *entries)
    read_map(e.value, fmt::format("{}.{}", path_of(key.name), e.key), members[e.key]);
}

void ChipReader::refuse_keys_of_other_kinds(Kind kind) {
  const Value& kind_value = *map_.find("kind");
  for (const base::Entry& e : *map_.get_if<base::Map>()) {
    const bool old_name = !base::renamed_key(kRenamedKeys, path_of(e.key)).empty();
    if (find_field(level_fields(kind), e.key) != nullptr || old_name) continue;
    std::vector<std::string_view> owners;
    for (const Kind other : kKinds)
      if (find_field(level_fields(other), e.key) != nullptr) owners.push_back(name_of_choice(other));
    if (owners.empty()) continue;
    fields_.take(e.key);
    const bool kind_was_changed = layers_.height_of(kind_value) > layers_.height_of(e.value);
    diags_.error(kind_was_changed ? kind_value.at : e.at,
                 fmt::format("{}: a key of a {}; this level is a {}", path_of(e.key), fmt::join(owners, " or a "),
                             name_of_choice(kind)));
  }
}

bool is_memory_class(const Value& document) {
  const Value* v = document.find("class");
  const std::string* text = v == nullptr ? nullptr : v->get_if<std::string>();
  return text != nullptr && *text == name_of_choice(ChipClass::kMemory);
}

}  // namespace

ArchSpec read_chip(const Layers& layers, Diagnostics& diags) {
  const Value& document = layers.chip;
  ArchSpec chip;
  ChipReader reader(document, {}, layers, diags, !is_memory_class(document));
  if (!document.is_map()) return chip;
  describe(reader, chip);
  reader.finish();
  return chip;
}

}  // namespace tilescope::arch
