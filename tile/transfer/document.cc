// SPDX-License-Identifier: Apache-2.0
#include "tile/transfer/document.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "arch/derive.h"
#include "tile/detail/bounds.h"
#include "tile/microkernel/rules.h"
#include "tile/transfer/results.h"
#include "tile/transfer/tma.h"
#include "tile/transfer/vectors.h"

namespace tilescope::tile {
namespace {

using base::Entry;
using base::Map;

// Values of `copy`.
constexpr std::string_view kBlocked = "blocked", kTma = "tma", kOnce = "once", kTmaOnce = "tma_once";

class TransferReader {
 public:
  TransferReader(const NodeFields& node, StageProgram& p) : node_(node), p_(p) {}

  void read(bool tiles_known) {
    read_cached();
    per_operand("padding", {0, 1 << 20}, &OperandPlan::padding);
    per_operand("rotate", {0, 1 << 20}, &OperandPlan::rotate);
    read_copies();
    for (std::size_t i = 0; i < p_.operands.size(); ++i)
      p_.operands[i].vector = default_vector(p_, i, arch::widest_access_of(node_.arch));
    const auto widest = p_.operands;
    per_operand("vector", {1, 64}, &OperandPlan::vector);
    if (tiles_known) check_vectors(widest);
    padding_in_bounds(p_, node_.at_of("padding"), node_.diags);
    if (node_.diags.ok()) check_families();
  }

 private:
  void error(base::Position at, std::string text) { node_.diags.error(at, std::move(text)); }

  void read_cached() {
    const arch::LevelSpec* scratchpad = arch::scratchpad_of(node_.arch);
    const Map* cached = node_.entries_of("cached");
    if (cached == nullptr) return;
    const std::string_view level = scratchpad == nullptr ? std::string_view() : std::string_view(scratchpad->name);
    for (OperandPlan& plan : p_.operands) plan.cached = false;
    for (const Entry& e : *cached)
      if (const auto i = node_.tensor_of(e, "cached"))
        p_.operands[*i].cached = base::as_choice(&e.value, "cached." + e.key, {level}, node_.diags).has_value();
  }

  void per_operand(std::string_view key, base::IntegerRange range, std::int64_t OperandPlan::* field) {
    if (const Map* entries = node_.entries_of(key))
      for (const Entry& e : *entries)
        if (const auto i = node_.tensor_of(e, key))
          if (const auto n = node_.integer(&e.value, key, e.key, range)) p_.operands[*i].*field = *n;
  }

  // How threads or the TMA engine copy a tensor. A box is given exactly where the engine copies.
  void read_copies() {
    std::vector<bool> by_tma(p_.operands.size(), false);
    if (const Map* copies = node_.entries_of("copy"))
      for (const Entry& e : *copies)
        if (const auto i = node_.tensor_of(e, "copy")) {
          const std::string_view copy = copy_of(e);
          p_.operands[*i].blocked = copy == kBlocked;
          p_.operands[*i].once = copy == kOnce || copy == kTmaOnce;
          by_tma[*i] = copy == kTma || copy == kTmaOnce;
        }
    const Map* boxes = node_.entries_of("box");
    if (boxes != nullptr)
      for (const Entry& e : *boxes) {
        const auto i = node_.tensor_of(e, "box");
        if (!i) continue;
        if (!by_tma[*i])
          error(e.at, fmt::format("box.{}: only a tensor whose copy is 'tma' or 'tma_once' has a box", e.key));
        else if (const auto n = node_.integer(&e.value, "box", e.key, {1, 1 << 20}))
          p_.operands[*i].box = *n;
      }
    for (std::size_t i = 0; i < by_tma.size(); ++i)
      if (const std::string& name = p_.space->operand(i).name; by_tma[i] && lacks(boxes, name))
        error(node_.at_of("copy"), fmt::format("copy.{0}: 'tma' needs box.{0}, the elements of a box's row", name));
  }

  static bool lacks(const Map* map, const std::string& name) {
    return map == nullptr || std::none_of(map->begin(), map->end(), [&](const Entry& e) { return e.key == name; });
  }

  // Empty after an error.
  std::string_view copy_of(const Entry& e) {
    const std::vector<std::string_view> choices = {"striped", kBlocked, kTma, kOnce, kTmaOnce};
    const std::string where = "copy." + e.key;
    const auto* text = e.value.get_if<std::string>();
    const std::string_view now = text == nullptr ? std::string_view() : base::renamed_key(kRenamedCopies, *text);
    if (!now.empty()) {
      error(e.value.at, fmt::format("{}: '{}' is now called {}", where, *text, now));
      return {};
    }
    const auto choice = base::as_choice(&e.value, where, choices, node_.diags);
    return choice ? choices[*choice] : std::string_view();
  }

  // A wider access than the widest that fits would straddle rows, or take elements that are another thread's.
  void check_vectors(const base::FixedVector<OperandPlan, kMaxOperands>& widest) {
    for (std::size_t i = 0; i < p_.operands.size(); ++i)
      if (widest[i].vector % p_.operands[i].vector != 0)
        error(node_.at_of("vector"),
              fmt::format("vector.{}: expected a divisor of {}, the widest access that fits, got {}",
                          p_.space->operand(i).name, widest[i].vector, p_.operands[i].vector));
  }

  void check_families() {
    const auto check = [&](std::string_view key, const std::string& why) {
      if (!why.empty()) error(node_.at_of(key), fmt::format("{}: {}", key, why));
      return why.empty();
    };
    const std::string_view cause = p_.matrix() == nullptr ? "cached" : "mma";
    check(cause, of_micro_kernel(p_, [&](const auto& kernel) { return tiles_refusal(kernel, p_); })) &&
        check("cached", results_refusal(p_, node_.arch)) && check("copy", tma_refusal(p_, node_.arch));
  }

  const NodeFields& node_;
  StageProgram& p_;
};

}  // namespace

void read_transfers(const NodeFields& node, bool tiles_known, StageProgram& p) {
  TransferReader(node, p).read(tiles_known);
}

TransferDocument transfer_document(const StageProgram& p, const std::string& scratchpad) {
  TransferDocument out;
  for (std::size_t i = 0; i < p.operands.size(); ++i) {
    const OperandPlan& plan = p.operands[i];
    const std::string& name = p.space->operand(i).name;
    if (plan.cached) out.cached.push_back({name, scratchpad});
    if (plan.padding != 0) out.padding.push_back({name, plan.padding});
    if (plan.rotate != 0) out.rotate.push_back({name, plan.rotate});
    if (plan.blocked) out.copy.push_back({name, std::string(kBlocked)});
    if (plan.once && plan.box == 0) out.copy.push_back({name, std::string(kOnce)});
    if (plan.box != 0) {
      out.copy.push_back({name, std::string(plan.once ? kTmaOnce : kTma)});
      out.box.push_back({name, plan.box});
    }
    out.vector.push_back({name, plan.vector});
  }
  return out;
}

std::vector<std::string> transfer_words(const StageProgram& p) {
  std::vector<std::string> words;
  bool cached = false;
  for (std::size_t i = 0; i < p.operands.size(); ++i) {
    const OperandPlan& plan = p.operands[i];
    const std::string& name = p.space->operand(i).name;
    cached = cached || (plan.cached && i < p.space->inputs.size());
    if (plan.padding != 0) words.push_back(fmt::format("{}+{}", name, plan.padding));
    if (plan.rotate != 0) words.push_back(fmt::format("rotate {} {}", name, plan.rotate));
    if (plan.once) words.push_back(name + " once");
  }
  if (!cached) words.emplace_back("direct");
  if (p.by_tma()) words.emplace_back("TMA");
  constexpr std::string_view kStores[] = {"", "store rows", "store TMA"};
  if (const std::string_view store = kStores[result_path_of(p).index()]; !store.empty()) words.emplace_back(store);
  return words;
}

}  // namespace tilescope::tile
