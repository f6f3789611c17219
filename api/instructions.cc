// SPDX-License-Identifier: Apache-2.0
#include "api/instructions.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/dtype.h"
#include "base/option.h"
#include "targets/target.h"

namespace tilescope::api {
namespace {

using Dtypes = std::pair<base::Dtype, base::Dtype>;  // of factors and of sums

std::string words_of(const Dtypes& d) {
  return fmt::format("{} into {}", base::name_of(d.first), base::name_of(d.second));
}

Dtypes dtypes_of(const expr::Expression& e) { return {e.dtype, e.accumulate}; }
Dtypes dtypes_of(const arch::ComputeSpec& c) { return {c.dtype, c.accumulate}; }

bool is_matrix_instruction(const arch::ComputeSpec& c) { return c.m * c.n > 1; }

bool lowers(const arch::ComputeSpec& c, const arch::ArchSpec& a) {
  return targets::target_of(a).lowering_refusal(c, a).empty();
}

bool has_matrix_instruction(const Dtypes& d, const arch::ArchSpec& a) {
  return std::any_of(a.compute.begin(), a.compute.end(), [&](const arch::ComputeSpec& c) {
    return is_matrix_instruction(c) && dtypes_of(c) == d && lowers(c, a);
  });
}

// That values are widened because no instruction of the chip takes single ones; empty where one does, or none takes the
// wider ones.
std::string widening(const Dtypes& d, const arch::ArchSpec& a) {
  if (arch::scalar_unit_of(a, d.first, d.second) != nullptr) return {};
  const arch::ComputeSpec* wide = arch::scalar_unit_of(a, d.second, d.second);
  if (wide == nullptr) return {};
  const char* by_itself = has_matrix_instruction(d, a) ? " one element at a time" : "";
  return fmt::format("no instruction multiplies {}{}; values are widened to {}, for {}", words_of(d), by_itself,
                     base::name_of(d.second), wide->name);
}

// A product that is summed, which a matrix instruction may compute.
bool sums(const expr::Expression& e) {
  return std::any_of(e.stages.begin(), e.stages.end(),
                     [](const expr::Stage& s) { return s.reducer == expr::Reducer::kSum; });
}

class Notes {
 public:
  Notes(const arch::ArchSpec& a, const std::string& about, base::Diagnostics& diags)
      : arch_(a), about_(about), diags_(diags) {}

  void left_out(const std::set<Dtypes>& summed) {
    for (const arch::ComputeSpec& c : arch_.compute) {
      if (!is_matrix_instruction(c) || summed.count(dtypes_of(c)) == 0) continue;
      if (const std::string why = targets::target_of(arch_).lowering_refusal(c, arch_); !why.empty())
        add(fmt::format("matrix instruction {} is left out: {}", c.name, why));
    }
  }

  void widened(const std::set<Dtypes>& all) {
    for (const Dtypes& d : all)
      if (const std::string text = widening(d, arch_); !text.empty()) add(text);
  }

 private:
  void add(const std::string& text) {
    const bool known = std::any_of(diags_.notes().begin(), diags_.notes().end(), [&](const base::Diagnostic& n) {
      return n.text == text && diags_.source_name(n.at.source) == about_;
    });
    if (!known) diags_.note({diags_.add_source(about_)}, text);
  }

  const arch::ArchSpec& arch_;
  const std::string& about_;
  base::Diagnostics& diags_;
};

void add_widened(const tile::RProgram& p, std::set<Dtypes>& to) {
  const auto* stages = std::get_if<std::vector<tile::StageProgram>>(&p.nodes);
  if (stages == nullptr) return;  // a core that exchanges names its instruction
  for (const tile::StageProgram& stage : *stages)
    if (tile::name_of(stage.micro_kernel).empty()) to.insert(dtypes_of(stage.space->expression));
}

}  // namespace

construct::Restrictions restrictions_of(const Workload& workload, const std::vector<NamedExpression>& operators,
                                        const arch::ArchSpec& a, base::Diagnostics& diags) {
  construct::Restrictions out;
  out.instruction = workload.instruction;
  out.direct_stores = workload.direct_stores;
  out.fuse = workload.fuse;
  out.inputs_prearranged = workload.inputs_prearranged;
  out.dataflow = workload.dataflow;
  out.tensor_location = workload.tensor_location;
  if (const std::string why = targets::refused(a, targets::target_of(a).placement); !why.empty())
    for (const auto& [name, given] : {std::pair(base::option("inputs-prearranged"), out.inputs_prearranged),
                                      std::pair(base::option("dataflow"), out.dataflow.has_value()),
                                      std::pair(base::option("tensor-location"), out.tensor_location.has_value())})
      if (given) diags.error({diags.add_source(name)}, why);
  if (diags.ok() && out.tensor_location == base::TensorLocation::kDram && arch::dram_of(a) == nullptr)
    diags.error({diags.add_source(base::option("tensor-location"))}, fmt::format("{} has no dram", a.name));
  if (out.instruction.empty() || out.instruction == "none") return out;
  const base::Position at{diags.add_source(base::option("mma"))};
  std::vector<std::string_view> names = {"none"};
  const arch::ComputeSpec* named = nullptr;
  for (const arch::ComputeSpec& c : a.compute) {
    if (!is_matrix_instruction(c)) continue;
    names.push_back(c.name);
    if (c.name == out.instruction) named = &c;
  }
  if (named == nullptr) {
    diags.error(at, fmt::format("{} has no matrix instruction '{}'{}", a.name, out.instruction,
                                base::did_you_mean(out.instruction, names)));
    return out;
  }
  if (const std::string why = targets::target_of(a).lowering_refusal(*named, a); !why.empty())
    diags.error(at, fmt::format("{} of {}: {}", named->name, a.name, why));
  const auto other = std::find_if(operators.begin(), operators.end(), [&](const NamedExpression& op) {
    return dtypes_of(op.expression) != dtypes_of(*named);
  });
  if (other != operators.end())
    diags.error(at, fmt::format("{} multiplies {}, and {} {}", named->name, words_of(dtypes_of(*named)), other->id,
                                words_of(dtypes_of(other->expression))));
  return out;
}

void note_instructions(const std::vector<const expr::Expression*>& operators, const arch::ArchSpec& a,
                       const std::string& about, base::Diagnostics& diags) {
  std::set<Dtypes> all, summed;
  for (const expr::Expression* e : operators) {
    all.insert(dtypes_of(*e));
    if (sums(*e)) summed.insert(dtypes_of(*e));
  }
  Notes notes(a, about, diags);
  notes.left_out(summed);
  // Programs say which of the products go by a matrix instruction.
  std::erase_if(all, [&](const Dtypes& d) { return has_matrix_instruction(d, a); });
  notes.widened(all);
}

void note_instructions(const std::vector<NamedExpression>& operators, const arch::ArchSpec& a,
                       base::Diagnostics& diags) {
  std::vector<const expr::Expression*> all;
  for (const NamedExpression& op : operators) all.push_back(&op.expression);
  note_instructions(all, a, a.name, diags);
}

void note_instructions(const tile::RProgram& program, const arch::ArchSpec& a, base::Diagnostics& diags) {
  std::set<Dtypes> widened;
  add_widened(program, widened);
  Notes(a, a.name, diags).widened(widened);
}

void note_instructions(const std::vector<GivenProgram>& programs, const arch::ArchSpec& a, base::Diagnostics& diags) {
  std::set<Dtypes> widened;
  for (const GivenProgram& p : programs)
    if (p.program) add_widened(*p.program, widened);
  Notes(a, a.name, diags).widened(widened);
}

}  // namespace tilescope::api
