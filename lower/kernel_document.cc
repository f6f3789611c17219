// SPDX-License-Identifier: Apache-2.0
// Reads what lower/detail/kernel_fields.h and lower/statement_fields.h describe.

#include "lower/kernel_document.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <utility>

#include <fmt/format.h>

#include "arch/fragment.h"
#include "base/option.h"
#include "lower/detail/affine_text.h"
#include "lower/detail/kernel_check.h"
#include "lower/detail/kernel_fields.h"
#include "lower/lower.h"
#include "lower/simt/microkernel/matrix_instruction.h"
#include "lower/statement_parts.h"
#include "tile/stage_reader.h"

namespace tilescope::lower {
namespace {

using base::List;
using base::Map;
using base::Value;
using expr::NodeKind;

// --- reading

// What is known while a module is read.
struct Scope {
  const arch::ArchSpec& chip;
  base::Diagnostics& diags;
  Module& module;
  Kernel* kernel = nullptr;
  std::array<NamesAt, 5> names = {};  // by Named

  NamesAt& of(Named what) { return names[static_cast<std::size_t>(what)]; }
};

constexpr std::array<std::string_view, 5> kWhat = {"array of the module", "index", "buffer", "mbarrier",
                                                   "matrix instruction of the kernel"};
constexpr std::size_t kMaxNamed = 1000;  // of a kind, in a kernel

class Reader {
 public:
  Reader(Scope& scope, const Value& v, std::string path)
      : s_(scope), path_(std::move(path)), fields_(v, path_.empty() ? "a Kernel document" : path_, scope.diags) {}

  template <class T, class About = Plain>
  void operator()(std::string_view key, T& v, const About& about = {}) {
    if (const Value* given = fields_.require(key)) read(*given, at(key), v, about);
  }
  template <class T>
  void optional(std::string_view key, T& v, const std::type_identity_t<T>& absent) {
    optional(key, v, Plain{}, absent);
  }
  template <class T, class About>
  void optional(std::string_view key, T& v, const About& about, const std::type_identity_t<T>& absent) {
    if (const Value* given = fields_.take(key))
      read(*given, at(key), v, about);
    else
      v = absent;
  }
  void name(std::string_view key, std::string& name) {
    const Value* given = fields_.require(key);
    const auto text = base::as_text(given, at(key), s_.diags);
    if (!text) return;
    name = *text;
    if (!is_name(name))
      s_.diags.error(given->at, fmt::format("{}: expected letters, digits, _, # and ., no digit first", at(key)));
  }
  void named(std::string_view key, int& position, Named of, std::optional<Space> /*space*/ = {}) {
    const Value* given = fields_.require(key);
    if (given == nullptr) return;
    text(*given, at(key),
         [&](AffineText& t) { position = t.position(s_.of(of), kWhat[static_cast<std::size_t>(of)]); });
  }
  void indices(std::string_view key, std::vector<Index>& all) {
    std::int64_t numbered = s_.kernel->threads;
    optional(kNumberedThreads, numbered, base::IntegerRange{1, numbered}, numbered);
    all = {{"block", IndexKind::kBlock, {0, s_.kernel->blocks - 1}, {}, 1, 0},
           {"thread", IndexKind::kThread, {0, numbered - 1}, {}, 1, 0}};
    for (std::size_t i = 0; i < all.size(); ++i) s_.of(Named::kIndex)[all[i].name] = static_cast<int>(i);
    (*this)(key, all);
  }
  bool either(std::string_view key, bool /*is*/) { return fields_.take(key) != nullptr; }

  const Value* take(std::string_view key) { return fields_.take(key); }
  const Value* require(std::string_view key) { return fields_.require(key); }
  void finish() { fields_.finish(); }

 private:
  std::string at(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  // Takes a text; a mistake stands at its place within it.
  template <class Take>
  void text(const Value& v, const std::string& path, const Take& take) {
    const auto given = base::as_text(&v, path, s_.diags);
    if (!given) return;
    AffineText t(*given, kMax);
    take(t);
    if (t.ok()) t.end();
    base::Position where = v.at;
    if (where.column > 0) where.column += 1 + static_cast<std::uint32_t>(t.at());  // behind the quote
    if (!t.ok()) s_.diags.error(where, fmt::format("{}: {}", path, t.error()));
  }

  void read(const Value& v, const std::string& path, std::string& out) {
    if (auto t = base::as_text(&v, path, s_.diags)) out = std::move(*t);
  }
  void read(const Value& v, const std::string& path, bool& out) {
    if (const auto b = base::as_bool(&v, path, s_.diags)) out = *b;
  }
  void read(const Value& v, const std::string& path, std::int64_t& out, base::IntegerRange range) {
    if (const auto n = base::as_integer(&v, path, range, s_.diags)) out = *n;
  }
  void read(const Value& v, const std::string& path, base::Dtype& out) {
    if (const auto d = base::as_choice(&v, path, base::dtype_names(), s_.diags)) out = base::kDtypes[*d].dtype;
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void read(const Value& v, const std::string& path, Enum& out) {
    const auto& names = kChoices<Enum>;
    if (const auto c = base::as_choice(&v, path, {names.begin(), names.end()}, s_.diags)) out = static_cast<Enum>(*c);
  }
  // Behind what is there already.
  template <class T, class About>
  void read(const Value& v, const std::string& path, std::vector<T>& out, const About& about) {
    const List* all = base::as_list(&v, path, s_.diags);
    if (all == nullptr) return;
    if constexpr (requires(T x) { x.name; })
      if (all->size() > kMaxNamed)
        return s_.diags.error(v.at, fmt::format("{}: expected at most {}, got {}", path, kMaxNamed, all->size()));
    for (std::size_t i = 0; i < all->size(); ++i) {
      T& next = out.emplace_back();
      read((*all)[i], fmt::format("{}[{}]", path, i), next, about);
      add_name((*all)[i], path, out);
    }
  }
  template <class T, class About>
  void read(const Value& v, const std::string& path, std::optional<T>& out, const About& about) {
    read(v, path, out.emplace(), about);
  }
  template <class T, class About>
  void read(const Value& v, const std::string& path, T& out, const About& about) {
    if constexpr (requires(Reader& r) { about(r, out); }) {
      Reader r(s_, v, path);
      about(r, out);
      r.finish();
    } else {
      read(v, path, out);
    }
  }
  void read(const Value& v, const std::string& path, expr::IndexDistribution& out) {
    const auto text = base::as_text(&v, path, s_.diags);
    const auto known = text ? expr::index_distribution_of(*text) : std::nullopt;
    if (known) out = *known;
    if (text && !known)
      s_.diags.error(v.at, fmt::format("{}: expected {}, got '{}'", path, expr::kIndexDistributions, *text));
  }
  // What others may call the last of them by.
  template <class T>
  void add_name(const Value& v, const std::string& path, const std::vector<T>& all) {
    if constexpr (requires { named_as(all.back()); }) {
      const std::string& name = all.back().name;
      if (!s_.of(named_as(all.back())).emplace(name, static_cast<int>(all.size()) - 1).second && !name.empty())
        s_.diags.error(v.at, fmt::format("{}[{}]: '{}' is the name of another", path, all.size() - 1, name));
    }
  }
  static Named named_as(const Global&) { return Named::kArray; }
  static Named named_as(const Index&) { return Named::kIndex; }
  static Named named_as(const Buffer&) { return Named::kBuffer; }
  static Named named_as(const Mbarrier&) { return Named::kMbarrier; }
  static Named named_as(const MatrixInstruction&) { return Named::kInstruction; }

  void read(const Value& v, const std::string& path, MatrixInstruction& out) {
    const auto name = base::as_text(&v, path, s_.diags);
    if (!name) return;
    const auto spec = std::find_if(s_.chip.compute.begin(), s_.chip.compute.end(),
                                   [&](const arch::ComputeSpec& c) { return c.name == *name; });
    const std::string why = spec == s_.chip.compute.end() ? fmt::format("{} has none of that name", s_.chip.name)
                                                          : lowering_refusal(*spec, s_.chip);
    if (!why.empty()) return s_.diags.error(v.at, fmt::format("{}: {}: {}", path, *name, why));
    out = matrix_instruction(*spec, spec->threads.value_or(s_.chip.core.warp));
  }
  void read(const Value& v, const std::string& path, arch::FragmentMap& out) {
    const auto given = base::as_text(&v, path, s_.diags);
    if (!given) return;
    base::Diagnostics mistakes;
    if (auto map = arch::fragment_map_of(*given, mistakes)) out = std::move(*map);
    for (const std::string& why : mistakes.sentences()) s_.diags.error(v.at, fmt::format("{}: {}", path, why));
  }
  void read(const Value& v, const std::string& path, Affine& out) {
    if (v.get_if<std::int64_t>() != nullptr) return read(v, path, out.constant, kNumbers);
    text(v, path, [&](AffineText& t) { out = t.affine(s_.of(Named::kIndex)); });
  }
  void read(const Value& v, const std::string& path, Access& out) {
    text(v, path, [&](AffineText& t) {
      out.buffer = t.position(s_.of(Named::kBuffer), kWhat[static_cast<std::size_t>(Named::kBuffer)]);
      t.sign('[');
      out.offset = t.affine(s_.of(Named::kIndex));
      t.sign(']');
    });
  }
  void read(const Value& v, const std::string& path, Guard& out) {
    text(v, path, [&](AffineText& t) {
      out.value = t.affine(s_.of(Named::kIndex));
      t.sign('<');
      out.bound = t.integer();
    });
  }
  void read(const Value& v, const std::string& path, expr::Node& out) {
    const auto wrong = [&] {
      s_.diags.error(
          v.at,
          fmt::format(
              R"({}: expected a number, {{"read": operand}}, {{"index": number}}, {{"scalar": name}} or an operation )"
              R"(such as {{"add": [0, 1]}} of earlier entries, got {})",
              path, v.describe()));
    };
    if (const auto* name = v.get_if<std::string>()) {
      if (*name != kInfinite && *name != kNegativeInfinite && *name != kNoNumber) return wrong();
      out.number = *name == kNoNumber ? NAN : *name == kInfinite ? HUGE_VAL : -HUGE_VAL;
      return;
    }
    if (!v.is_map()) {
      if (v.get_if<std::int64_t>() == nullptr && v.get_if<double>() == nullptr) return wrong();
      out.number = base::as_number(&v, path, s_.diags).value_or(0);
      return;
    }
    const Map& map = *v.get_if<Map>();
    if (map.size() != 1) return wrong();
    const std::string& key = map.front().key;
    const Value& of = map.front().value;
    const std::string where = path + '.' + key;
    constexpr base::IntegerRange kPositions{0, 1 << 20};
    if (key == "read" || key == "index" || key == "scalar") {
      out.kind = key == "read" ? NodeKind::kRead : key == "index" ? NodeKind::kIndex : NodeKind::kScalar;
      if (out.kind != NodeKind::kScalar)
        out.index = static_cast<int>(base::as_integer(&of, where, kPositions, s_.diags).value_or(0));
      else
        out.index = static_cast<int>(
            base::as_choice(&of, where, {s_.module.scalars.begin(), s_.module.scalars.end()}, s_.diags).value_or(0));
      return;
    }
    const auto known = std::find_if(all_node_names().begin(), all_node_names().end(),
                                    [&](const NodeName& n) { return n.name == key; });
    if (known == all_node_names().end()) return wrong();
    out.kind = known->kind;
    out.function = known->function;
    const List* operands = base::as_list(&of, where, s_.diags);
    if (operands == nullptr) return;
    if (operands->size() != known->operands)
      return s_.diags.error(of.at,
                            fmt::format("{}: expected {} operands, got {}", where, known->operands, operands->size()));
    const auto position = [&](std::size_t n) {
      return static_cast<int>(base::as_integer(&(*operands)[n], where, kPositions, s_.diags).value_or(0));
    };
    out.left = position(0);
    if (known->operands > 1) out.right = position(1);
    if (known->operands > 2) out.third = position(2);
  }
  void read(const Value& v, const std::string& path, Statement& out) {
    Reader r(s_, v, path);
    const Value* what = r.require("do");
    const auto kind =
        what == nullptr ? std::nullopt
                        : base::as_choice(what, r.at("do"), {kStatementNames.begin(), kStatementNames.end()}, s_.diags);
    if (!kind) return;
    emplace(out.what, *kind);
    std::visit([&](auto& one) { fields(r, one); }, out.what);
    r.optional("note", out.note, {});
    r.finish();
  }
  template <class... Kinds>
  static void emplace(std::variant<Kinds...>& what, std::size_t kind) {
    std::size_t n = 0;
    ((n++ == kind ? void(what.template emplace<Kinds>()) : void()), ...);
  }
  template <class Structure>
    requires std::is_class_v<Structure>
  void read(const Value& v, const std::string& path, Structure& out) {
    if constexpr (std::same_as<Structure, Kernel>) {
      s_.kernel = &out;
      for (const Named n : {Named::kIndex, Named::kBuffer, Named::kMbarrier, Named::kInstruction}) s_.of(n).clear();
    }
    Reader r(s_, v, path);
    fields(r, out);
    r.finish();
    if constexpr (std::same_as<Structure, Index>) complete(v, path, out);
    if constexpr (std::same_as<Structure, Buffer>) complete(out);
  }

  void complete(const Value& v, const std::string& path, Index& i) {
    i.kind = v.find("of") != nullptr ? IndexKind::kDerived : IndexKind::kLoop;
    if (i.kind == IndexKind::kLoop) return;
    const auto range = checked_range(*s_.kernel, i.of);
    if (!range) return s_.diags.error(v.at, fmt::format("{}: its values do not fit {} bits", path, kIndexBits));
    i.range = derived_range(*range, i.divisor, i.modulus);
  }
  void complete(Buffer& b) const {
    if (b.space != Space::kGlobal || b.global < 0 || b.global >= std::ssize(s_.module.globals)) return;
    const Global& g = s_.module.globals[static_cast<std::size_t>(b.global)];
    b.dtype = g.dtype;
    b.elements = g.elements;
  }

  Scope& s_;
  std::string path_;
  base::Fields fields_;
};

// --- what the kernels compute

// The stages by their spaces. Inputs and outputs of the module have to be theirs.
std::optional<tile::RProgram> read_computes(const Value& v, bool carried, base::Diagnostics& diags) {
  const List* stages = base::as_list(&v, "computes", diags);
  if (stages == nullptr) return std::nullopt;
  if (stages->empty() || stages->size() > expr::kMaxStages) {
    diags.error(v.at, fmt::format("computes: expected 1 to {} stages, got {}", expr::kMaxStages, stages->size()));
    return std::nullopt;
  }
  tile::SpaceCache cache;
  tile::RProgram out;
  const std::size_t before = diags.count();
  for (std::size_t n = 0; n < stages->size(); ++n) {
    base::Fields f((*stages)[n], fmt::format("computes[{}]", n), diags);
    for (const std::string_view key : tile::kSpaceKeys) f.take(key);
    f.finish();
    tile::StageProgram p;
    if (diags.count() == before) p.space = cache.space_of((*stages)[n], diags);
    if (p.space != nullptr) out.add(std::move(p));
  }
  if (diags.count() > before) return std::nullopt;
  if (carried) out.edges.push_back({0, 0, {}, {}, "carried"});
  return out;
}

void check_computes(const tile::RProgram& p, const Module& m, const PlaceOf& place, base::Diagnostics& diags) {
  for (std::size_t g = 0; g < m.globals.size(); ++g) {
    const Global& global = m.globals[g];
    if (global.role == Role::kBetween) continue;
    const expr::Tensor* found = nullptr;
    for (std::size_t s = 0; s < p.stages(); ++s) {
      const expr::Expression& e = p.space(s).expression;
      for (const expr::Tensor& t : e.tensors)
        if (t.name == global.name && (t.producer == expr::kInput) == (global.role == Role::kInput)) found = &t;
    }
    const std::string path = fmt::format("arrays[{}]", g);
    if (found == nullptr)
      diags.error(place(path), fmt::format("{}: no stage of 'computes' {} {}", path,
                                           global.role == Role::kInput ? "reads" : "writes", global.name));
    else if (found->elements() != global.elements || found->dtype != global.dtype)
      diags.error(place(path), fmt::format("{}: {} has {} elements of {}, by 'computes' {} of {}", path, global.name,
                                           global.elements, base::name_of(global.dtype), found->elements(),
                                           base::name_of(found->dtype)));
  }
}

// The place of the last part of the path that the document has.
base::Position place_in(const Value& document, std::string_view path) {
  const Value* at = &document;
  while (!path.empty()) {
    const Value* inner = nullptr;
    if (path.front() == '[') {
      std::size_t n = 0, c = 1;
      for (; c < path.size() && path[c] != ']'; ++c) n = n * 10 + static_cast<std::size_t>(path[c] - '0');
      path.remove_prefix(std::min(path.size(), c + 1));
      const List* list = at->get_if<List>();
      if (list != nullptr && n < list->size()) inner = &(*list)[n];
    } else {
      if (path.front() == '.') path.remove_prefix(1);
      const std::size_t end = std::min(path.find_first_of(".["), path.size());
      inner = at->find(path.substr(0, end));
      path.remove_prefix(end);
    }
    if (inner == nullptr) break;
    at = inner;
  }
  return at->at;
}

}  // namespace

std::optional<KernelDocument> read_kernels(const Value& document, const arch::ArchSpec& chip, base::Diagnostics& diags,
                                           const KernelLimits& limits) {
  const std::size_t before = diags.count();
  KernelDocument out;
  if (document.find("nodes") != nullptr) {
    diags.error(document.at, fmt::format("a program, which has 'nodes': {} reads it, {} reads kernels",
                                         base::option("program"), base::option("kernel")));
    return std::nullopt;
  }
  Scope scope{chip, diags, out.module};
  Reader r(scope, document, "");
  base::as_integer(r.require("format"), "format", {kKernelFormat, kKernelFormat}, diags);
  out.arch = base::as_text(r.take("arch"), "arch", diags).value_or("");
  const Value* computes = r.take("computes");
  const bool carried = base::as_bool(r.take("carried"), "carried", diags).value_or(false);
  fields(r, out.module);
  r.finish();
  if (computes != nullptr) out.computes = read_computes(*computes, carried, diags);
  if (diags.count() > before) return std::nullopt;
  const PlaceOf place = [&](std::string_view path) { return place_in(document, path); };
  if (out.computes) check_computes(*out.computes, out.module, place, diags);
  check(out.module, chip, place, diags, limits);
  if (diags.count() > before) return std::nullopt;
  return out;
}

}  // namespace tilescope::lower
