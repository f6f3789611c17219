// SPDX-License-Identifier: Apache-2.0
// Writes what lower/detail/kernel_fields.h and lower/statement_fields.h describe.

#include <cmath>
#include <concepts>
#include <utility>

#include <fmt/format.h>

#include "arch/fragment.h"
#include "lower/detail/kernel_fields.h"
#include "lower/kernel_document.h"
#include "lower/print.h"
#include "lower/statement_parts.h"
#include "tile/stage_reader.h"

namespace tilescope::lower {
namespace {

using base::List;
using base::Map;
using base::Value;
using expr::NodeKind;

class Writer {
 public:
  explicit Writer(const Module& m, const Kernel* k = nullptr) : m_(m), k_(k) {}

  template <class T, class About = Plain>
  void operator()(std::string_view key, const T& v, const About& about = {}) {
    put(key, value_of(v, about));
  }
  template <class T>
  void optional(std::string_view key, const T& v, const std::type_identity_t<T>& absent) {
    optional(key, v, Plain{}, absent);
  }
  template <class T, class About>
  void optional(std::string_view key, const T& v, const About& about, const std::type_identity_t<T>& absent) {
    if (!(v == absent)) put(key, value_of(v, about));
  }
  void name(std::string_view key, const std::string& name) { put(key, name); }
  void named(std::string_view key, int position, Named of, std::optional<Space> /*space*/ = {}) {
    put(key, name_of(of, static_cast<std::size_t>(position)));
  }
  void indices(std::string_view key, const std::vector<Index>& all) {
    const std::int64_t numbered = all[kThreadIndex].range.high + 1;
    if (numbered != k_->threads) put(kNumberedThreads, numbered);
    put(key, value_of(std::vector<Index>(all.begin() + kThreadIndex + 1, all.end())));
  }
  static bool either(std::string_view /*key*/, bool is) { return is; }

  void put(std::string_view key, Value v) { map_.push_back({std::string(key), std::move(v)}); }
  Map take() { return std::move(map_); }

 private:
  const std::string& name_of(Named of, std::size_t at) const {
    switch (of) {
      case Named::kArray:
        return m_.globals[at].name;
      case Named::kIndex:
        return k_->indices[at].name;
      case Named::kBuffer:
        return k_->buffers[at].name;
      case Named::kMbarrier:
        return k_->mbarriers[at].name;
      case Named::kInstruction:
        break;
    }
    return k_->matrix_instructions[at].name;
  }

  static Value value_of(const std::string& v) { return v; }
  static Value value_of(std::int64_t v) { return v; }
  static Value value_of(bool v) { return v; }
  static Value value_of(base::Dtype v) { return base::name_of(v); }
  template <class Enum>
    requires std::is_enum_v<Enum>
  static Value value_of(Enum v) {
    return kChoices<Enum>[static_cast<std::size_t>(v)];
  }
  template <class T>
  Value value_of(const std::vector<T>& all) const {
    List out;
    for (const T& v : all) out.push_back(value_of(v));
    return out;
  }
  template <class T, class About>
  Value value_of(const std::optional<T>& v, const About& about) const {
    return value_of(*v, about);  // one without a value is left out
  }
  template <class T, class About>
  Value value_of(const T& v, const About& about) const {
    if constexpr (requires(Writer& w) { about(w, v); }) {
      Writer w(m_, k_);
      about(w, v);
      return w.take();
    } else {
      return value_of(v);
    }
  }
  static Value value_of(const MatrixInstruction& i) { return i.name; }
  static Value value_of(const expr::IndexDistribution& d) { return expr::to_text(d); }
  static Value value_of(const arch::FragmentMap& map) { return arch::text_of(map); }
  Value value_of(const Affine& a) const { return print(*k_, a); }
  Value value_of(const Access& a) const {
    return fmt::format("{}[{}]", name_of(Named::kBuffer, static_cast<std::size_t>(a.buffer)), print(*k_, a.offset));
  }
  Value value_of(const Guard& g) const { return fmt::format("{} < {}", print(*k_, g.value), g.bound); }
  Value value_of(const expr::Node& n) const {
    const auto entry = [](std::string_view key, Value v) { return Map{{std::string(key), std::move(v)}}; };
    if (n.kind == NodeKind::kNumber) return value_of(n.number);
    if (n.kind == NodeKind::kRead) return entry("read", n.index);
    if (n.kind == NodeKind::kIndex) return entry("index", n.index);
    if (n.kind == NodeKind::kScalar) return entry("scalar", m_.scalars[static_cast<std::size_t>(n.index)]);
    for (const NodeName& known : all_node_names())
      if (known.kind == n.kind && (n.kind != NodeKind::kCall || known.function == n.function)) {
        List operands;
        expr::for_each_operand(n, [&](int operand) { operands.emplace_back(operand); });
        return entry(known.name, std::move(operands));
      }
    return {};
  }
  static Value value_of(double number) {
    if (std::isnan(number)) return kNoNumber;
    if (std::isinf(number)) return number > 0 ? kInfinite : kNegativeInfinite;
    return number;
  }
  Value value_of(const Statement& s) const {
    Writer w(m_, k_);
    w.put("do", kStatementNames[s.what.index()]);
    std::visit([&](const auto& what) { fields(w, what); }, s.what);
    w.optional("note", s.note, {});
    return w.take();
  }
  template <class Structure>
    requires std::is_class_v<Structure>
  Value value_of(const Structure& s) const {
    const Kernel* k = k_;
    if constexpr (std::same_as<Structure, Kernel>) k = &s;
    Writer w(m_, k);
    fields(w, s);
    return w.take();
  }

  const Module& m_;
  const Kernel* k_;
  Map map_;
};

}  // namespace

base::Value to_document(const Module& m, const std::string& arch, const List& computes, bool carried) {
  Writer w(m);
  w.put("format", kKernelFormat);
  if (!arch.empty()) w.put("arch", arch);
  List stages;
  for (const Value& node : computes) {
    Map stage;
    for (const std::string_view key : tile::kSpaceKeys)
      if (const Value* v = node.find(key)) stage.push_back({std::string(key), *v});
    stages.emplace_back(std::move(stage));
  }
  if (!stages.empty()) w.put("computes", std::move(stages));
  if (carried) w.put("carried", true);
  fields(w, m);
  return w.take();
}

}  // namespace tilescope::lower
