// SPDX-License-Identifier: Apache-2.0
#include "api/sequence.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/hierarchy.h"
#include "base/option.h"
#include "targets/target.h"
#include "tile/names.h"

namespace tilescope::api {

std::optional<Sequence> Sequence::of(const std::vector<NamedExpression>& operators, const arch::ArchSpec& a,
                                     base::Diagnostics& diags) {
  const std::size_t errors = diags.count();
  expr::TensorsOfSequence tensors;
  for (const NamedExpression& op : operators) tensors.add(op.id, op.expression, op.inputs, diags);
  if (diags.count() > errors) return std::nullopt;
  return of(std::move(tensors), a, diags);
}

std::optional<Sequence> Sequence::of(expr::TensorsOfSequence tensors, const arch::ArchSpec& a,
                                     base::Diagnostics& diags) {
  const base::Position at{diags.add_source(base::option("sequence"))};
  if (const std::string why = targets::why_unsupported(a, &targets::Target::estimate_sequence); !why.empty()) {
    diags.error(at, why);
    return std::nullopt;
  }
  Sequence out;
  out.tensors_ = std::move(tensors);
  const arch::DramLevel* dram = arch::dram_of(a);
  const double bytes = out.tensors_.bytes();
  if (dram == nullptr || bytes <= static_cast<double>(dram->capacity.n)) return out;
  diags.error(at,
              fmt::format("the tensors of all operators have {:.4g} GB, and {} of {} holds {:.4g} GB; compile fewer "
                          "operators in a sequence, or each alone",
                          bytes * 1e-9, dram->name, a.name, static_cast<double>(dram->capacity.n) * 1e-9));
  return std::nullopt;
}

tile::RProgram Sequence::with_arrays(std::size_t op, tile::RProgram p) const {
  return tile::with_tensor_names(std::move(p),
                                 [&](const std::string& tensor) { return tensors_.array_of(op, tensor); });
}

std::string Sequence::inputs(std::size_t op) const {
  std::vector<std::string> parts;
  for (const auto& [input, array] : tensors_.shared(op)) parts.push_back(fmt::format("{}={}", input, array));
  return fmt::format("{}", fmt::join(parts, ","));
}

std::vector<std::optional<model::Estimate>> Sequence::estimates(const std::vector<const tile::RProgram*>& programs,
                                                                const arch::ArchSpec& a) const {
  std::vector<tile::RProgram> named;
  std::vector<std::size_t> of;
  for (std::size_t op = 0; op < programs.size(); ++op) {
    if (programs[op] == nullptr) continue;
    named.push_back(with_arrays(op, *programs[op]));
    of.push_back(op);
  }
  std::vector<std::optional<model::Estimate>> out(programs.size());
  auto found = targets::target_of(a).estimate_sequence(named, a);
  for (std::size_t i = 0; i < found.size(); ++i) out[of[i]] = std::move(found[i]);
  return out;
}

}  // namespace tilescope::api
