// SPDX-License-Identifier: Apache-2.0
#include "lower/expected_values.h"

#include <algorithm>
#include <set>

#include "expr/tables.h"

namespace tilescope::lower {
namespace {

expr::Values drawn(const expr::Tensor& t, std::mt19937& random) {
  expr::Values out(static_cast<std::size_t>(t.elements()));
  const double unit = base::is_integer(t.dtype) ? 1 : 0.25;
  const int least = base::is_unsigned(t.dtype) ? 0 : -4;
  for (double& v : out) v = (static_cast<int>(random() % 9) + least) * unit;  // no distribution: they differ by library
  return out;
}

// By table of the program, of those that no stage computes: what its stages index by it.
struct Table {
  expr::Tensor tensor;
  std::int64_t bound = 0;
};

void add_tables(const tile::RProgram& p, NamedValues& values) {
  std::map<std::string, Table> tables;
  std::set<std::string> computed;
  for (std::size_t s = 0; s < p.stages(); ++s) {
    const expr::Expression& e = p.space(s).expression;
    for (const int t : expr::tables_of(e)) {
      const expr::Tensor& tensor = e.tensors[static_cast<std::size_t>(t)];
      const std::int64_t bound = expr::index_bound(e, t);
      const auto [known, fresh] = tables.try_emplace(tensor.name, Table{tensor, bound});
      if (!fresh) known->second.bound = std::min(known->second.bound, bound);
    }
    computed.insert(e.tensors[static_cast<std::size_t>(e.stages.front().output)].name);
  }
  for (const auto& [name, table] : tables) {
    if (values.contains(name) || computed.contains(name)) continue;
    const expr::Tensor& t = table.tensor;
    const auto greatest = static_cast<std::int64_t>(expr::round_to(t.dtype, 0x1p40));
    const auto indices = expr::drawn_indices(name, t.elements(), std::min(table.bound, greatest + 1), t.indices);
    values[name] = {indices.begin(), indices.end()};
  }
}

}  // namespace

void add_inputs(const tile::RProgram& p, std::mt19937& random, NamedValues& values) {
  add_tables(p, values);
  std::set<std::string> computed;
  for (std::size_t s = 0; s < p.stages(); ++s) {
    const expr::Expression& e = p.space(s).expression;
    for (const expr::Tensor& t : e.tensors)
      if (t.producer == expr::kInput && !values.contains(t.name) && !computed.contains(t.name))
        values[t.name] = drawn(t, random);
    computed.insert(e.tensors[static_cast<std::size_t>(e.stages.front().output)].name);
  }
}

void add_expected_values(const tile::RProgram& p, std::mt19937& random, NamedValues& values) {
  add_inputs(p, random, values);
  for (std::size_t s = 0; s < p.stages(); ++s) {
    const expr::Expression& e = p.space(s).expression;
    std::vector<expr::Values> tensors;
    for (const expr::Tensor& t : e.tensors)
      tensors.push_back(t.producer == expr::kInput ? values.at(t.name) : expr::Values{});
    expr::evaluate(e, std::vector<double>(e.scalars.size(), kScalar), tensors);
    const auto output = static_cast<std::size_t>(e.stages.front().output);
    values[e.tensors[output].name] = std::move(tensors[output]);
  }
}

std::vector<expr::Values> globals_of(const Module& m, const NamedValues& values) {
  std::vector<expr::Values> out;
  for (const Global& g : m.globals) out.push_back(g.role == Role::kInput ? values.at(g.name) : expr::Values{});
  return out;
}

}  // namespace tilescope::lower
