// SPDX-License-Identifier: Apache-2.0
// Nodes whose stages the description of a network writes itself.

#include <algorithm>

#include "base/dtype.h"
#include "expr/infer.h"
#include "expr/tables.h"
#include "graph/detail/writer.h"

namespace tilescope::graph {

std::optional<expr::Expression> build_written(const WrittenStages& written,
                                              const std::vector<std::optional<Operand>>& inputs, base::Position at,
                                              base::Diagnostics& diags) {
  expr::Problem p;
  p.text = written.text;
  p.at = at;
  for (const auto& [axis, size] : written.sizes) p.sizes.push_back({axis, size, at});
  for (std::size_t i = 0; i < written.reads.size(); ++i)
    p.shapes.push_back({written.reads[i], of_one_at_least(inputs.at(i).value().shape), at});
  p.dtypes.arithmetic = base::Dtype::kF32;
  p.of_network = true;
  auto e = expr::build(p, diags);
  if (!e || e->scalars.empty()) return e;
  diags.error(
      at, fmt::format("'{0}' has no coordinates and is no axis; {{{0}}} is a variable's number", e->scalars.front()));
  return std::nullopt;
}

OperatorStages written_stages(const WrittenStages& written, const std::vector<std::optional<Operand>>& inputs) {
  base::Diagnostics diags;
  const base::Position at{diags.add_source("stages"), 1, 1};
  const auto e = build_written(written, inputs, at, diags);
  if (!e) throw Refusal(diags.sentences().front());
  OperatorStages out;
  out.text = written.text;
  out.sizes = written.sizes;
  const std::vector<int> tables = expr::tables_of(*e);
  for (std::size_t i = 0; i < written.reads.size(); ++i)
    out.inputs.push_back({written.reads[i], static_cast<int>(i), of_one_at_least(inputs.at(i).value().shape),
                          std::any_of(tables.begin(), tables.end(), [&](int t) {
                            return e->tensors[static_cast<std::size_t>(t)].name == written.reads[i];
                          })});
  const expr::Tensor& result = e->tensors.at(static_cast<std::size_t>(e->stages.back().output));
  Output o;
  o.tensor = result.name;
  o.element = written.element;
  o.written = result.shape;
  o.shape = result.shape;
  out.outputs.push_back(std::move(o));
  return out;
}

}  // namespace tilescope::graph
