// SPDX-License-Identifier: Apache-2.0
#include "api/network/detail/schedule.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/counted.h"
#include "api/kernels.h"
#include "api/network/detail/flow.h"
#include "api/timed_kernels.h"
#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "expr/work.h"
#include "targets/target.h"
#include "tile/names.h"
#include "tile/program_json.h"

namespace tilescope::api {
namespace {

// Operations that the expression needs at the peak of the fastest instruction that multiplies its dtype.
double arithmetic_us(const expr::Expression& e, const arch::ArchSpec& a) {
  double peak = 0;
  for (const arch::ComputeSpec& c : a.compute)
    if (c.dtype == e.dtype) peak = std::max(peak, arch::peak_of(a, c).v);
  return peak > 0 ? 1e6 * expr::needed_operations_of(e) / peak : 0;
}

double dram_us(double bytes, const arch::ArchSpec& a) {
  const arch::DramLevel* dram = arch::dram_of(a);
  return dram == nullptr ? 0 : 1e6 * bytes / arch::bandwidth_of(a, *dram).v;
}

std::string sizes_of(const expr::Expression& e) {
  std::vector<std::string> sizes;
  std::set<std::string> seen;
  for (const expr::Stage& s : e.stages)
    for (const expr::Axis& axis : s.axes)
      if (seen.insert(axis.name).second) sizes.push_back(fmt::format("{}={}", axis.name, axis.size));
  return fmt::format("{}", fmt::join(sizes, ","));
}

// Over all rows with a time by the model; nullopt where one of them lacks it, and where there are none.
std::optional<double> sum_of(const std::vector<NetworkGroupRow>& rows, std::optional<double> NetworkGroupRow::* value) {
  std::optional<double> sum;
  for (const NetworkGroupRow& r : rows) {
    if (!r.us) continue;
    if (!(r.*value)) return std::nullopt;
    sum = sum.value_or(0) + *(r.*value);
  }
  return sum;
}

}  // namespace

double chip_bytes(const graph::NetworkTensor& t) {
  const auto dtype = graph::dtype_of(t.element);
  return dtype ? static_cast<double>(graph::elements_of(t.shape) * base::size_of(*dtype).n) : 0;
}

Schedule::Schedule(const graph::Network& network, const graph::Uses& uses, const arch::ArchSpec& chip,
                   Grouping grouping)
    : network_(network), uses_(uses), chip_(chip), grouping_(std::move(grouping)) {
  set_estimates();
  for (std::size_t g = 0; g < grouping_.groups.size(); ++g)
    for (const auto& [tensor, array] : grouping_.groups[g].subgraph.arrays) first_.try_emplace(array, g);
}

void Schedule::simulate(const SimulationHow& how, int jobs, const Progress& progress) {
  simulations_.emplace(programs_, chip_, how, jobs, progress);
}

std::optional<NetworkSimulation> Schedule::simulation() const {
  if (!simulations_) return std::nullopt;
  return NetworkSimulation{simulations_->simulated(), programs_.size(), simulations_->cpu_seconds(),
                           simulations_->peak_bytes()};
}

std::vector<NetworkGroupRow> Schedule::rows() const {
  std::vector<NetworkGroupRow> out;
  for (std::size_t g = 0; g < grouping_.groups.size(); ++g) out.push_back(row(g));
  for (const auto& [node, why] : grouping_.alone) {
    const graph::NetworkNode& n = network_.nodes[node];
    NetworkGroupRow& r = out.emplace_back();
    r.nodes = {n.name};
    r.kinds = {n.kind};
    r.kind = shown_kind(n);
    r.error = why;
  }
  return out;
}

NetworkTotal Schedule::total(const std::vector<NetworkGroupRow>& rows) const {
  NetworkTotal out;
  for (const NetworkGroupRow& r : rows) {
    ++out.groups;
    out.without_time += r.us ? 0 : 1;
    out.kernels += r.kernels;
    out.us += r.us.value_or(0);
    out.dram_bytes += r.dram_bytes.value_or(0);
    out.speed_of_light_us += r.speed_of_light_us.value_or(0);
  }
  out.simulated_us = sum_of(rows, &NetworkGroupRow::simulated_us);
  out.simulated_dram_bytes = sum_of(rows, &NetworkGroupRow::simulated_dram_bytes);
  for (const auto& [name, life] : lives())
    if (life.written) out.intermediate_bytes += chip_bytes(network_.tensors.at(name));
  return out;
}

double Schedule::launch_us() const {
  double sum = 0;
  for (const auto& e : estimates_)
    if (e) sum += e->term_us("launch");
  return sum;
}

std::optional<EnergyRow> Schedule::energy(std::optional<std::string>& lacking) const {
  energy::Counts counts;
  double us = 0;
  for (const auto& e : estimates_)
    if (e) counts += e->counts, us += e->total_us;
  if (counts.levels.empty()) return std::nullopt;
  const auto time_at = [this](arch::Hertz clock) {
    arch::ArchSpec slower = chip_;
    slower.clock = clock;
    double sum = 0;
    for (const auto& e : targets::target_of(slower).estimate_sequence(programs_, slower))
      if (e) sum += e->total_us;
    return sum;
  };
  return energy_row_of(counts, us, chip_, in_sequence_ ? energy::TimeAt(time_at) : energy::TimeAt(), lacking);
}

double Schedule::least_us() const {
  double arithmetic = 0, bytes = 0;
  for (std::size_t g = 0; g < grouping_.groups.size(); ++g) {
    arithmetic += arithmetic_us(grouping_.groups[g].subgraph.expression, chip_);
    for (const auto& [array, touched] : touched_bytes(g))
      if (first_.at(array) == g && !uses_.writer(array)) bytes += touched;
  }
  return std::max(arithmetic, dram_us(bytes, chip_));
}

std::vector<LivingTensor> Schedule::written() const {
  std::vector<LivingTensor> out;
  for (const auto& [name, life] : lives())
    if (life.written)
      out.push_back({name, static_cast<std::int64_t>(chip_bytes(network_.tensors.at(name))), life.first, life.last});
  return out;
}

NetworkMemory Schedule::memory() const {
  NetworkMemory out;
  for (const auto& [name, life] : lives()) {
    if (life.written) continue;
    const graph::NetworkTensor& t = network_.tensors.at(name);
    (t.role == graph::TensorRole::kConstant ? out.constant_bytes : out.input_bytes) += chip_bytes(t);
  }
  const arch::HomeMemory home = arch::home_memory_of(chip_);
  out.level = home.name;
  out.capacity_bytes = static_cast<double>(home.capacity.n);
  const Arena arena = arena_of(written(), home.transaction.n);
  out.between_bytes = static_cast<double>(arena.bytes);
  out.live_bytes = static_cast<double>(arena.live_bytes);
  if (arena.at < grouping_.groups.size()) out.at = network_.nodes[grouping_.groups[arena.at].nodes.back()].name;
  return out;
}

std::vector<NetworkTensorRow> Schedule::tensors(const std::vector<NetworkGroupRow>& rows) const {
  std::vector<NetworkTensorRow> out;
  std::set<std::string> seen;
  for (const NetworkGroupRow& r : rows)
    for (const auto* names : {&r.reads, &r.writes})
      for (const std::string& name : *names) {
        if (!seen.insert(name).second) continue;
        const graph::NetworkTensor& t = network_.tensors.at(name);
        const auto dtype = graph::dtype_of(t.element);
        out.push_back({name, fmt::format("{}", fmt::join(t.shape, "x")),
                       dtype ? std::string(base::name_of(*dtype)) : "", chip_bytes(t),
                       t.role == graph::TensorRole::kConstant ? "constant"
                       : uses_.is_result(name)                ? "output"
                       : uses_.writer(name)                   ? "between"
                                                              : "input"});
      }
  return out;
}

std::vector<ProgramToWrite> Schedule::programs() const {
  std::vector<ProgramToWrite> out;
  std::map<const Ranked*, std::size_t> known;
  for (const auto& [g, place] : place_) {
    const Ranked* best = grouping_.groups[g].best;
    const auto [at, is_new] = known.try_emplace(best, out.size());
    if (is_new)
      out.push_back({ids_.at(best), ids_.at(best), 1, tile::to_document(best->programs.front().program, chip_)});
    else
      ++out[at->second].count;
  }
  return out;
}

std::vector<TimedOperator> Schedule::timed() const {
  std::vector<TimedOperator> out;
  for (const auto& e : estimates_)
    if (e) out.push_back({1, e->total_us, 0, std::string(e->terms[e->bottleneck].name)});
  return out;
}

void Schedule::set_estimates() {
  const targets::Target& target = targets::target_of(chip_);
  estimates_.resize(grouping_.groups.size());
  in_sequence_ = target.estimate_sequence.why_unsupported().empty();
  for (std::size_t g = 0; g < grouping_.groups.size(); ++g) {
    const NodeGroup& group = grouping_.groups[g];
    if (group.best->programs.empty()) continue;
    const RankedProgram& best = group.best->programs.front();
    if (!in_sequence_) estimates_[g] = best.estimate;
    const std::map<std::string, std::string> names = array_names(g);
    programs_.push_back(tile::with_tensor_names(best.program, [&](const std::string& tensor) {
      const auto array = names.find(tensor);
      return array == names.end() ? fmt::format(" {}.{}", g, tensor) : array->second;
    }));
    place_[g] = programs_.size() - 1;
    ids_.try_emplace(group.best, id_of(g));
  }
  if (!in_sequence_) return;
  auto found = target.estimate_sequence(programs_, chip_);
  for (const auto& [g, place] : place_) estimates_[g] = std::move(found[place]);
}

std::map<std::string, std::string> Schedule::array_names(std::size_t g) const {
  std::map<std::string, std::string> out;
  std::set<std::string> taken;
  for (const auto& [tensor, array] : grouping_.groups[g].subgraph.arrays)
    if (taken.insert(array).second) out.emplace(tensor, array);
  return out;
}

std::string Schedule::id_of(std::size_t g) const {
  constexpr std::size_t kLongestName = 40;  // in lists of files
  std::string name = network_.nodes[grouping_.groups[g].nodes.front()].name.substr(0, kLongestName);
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return fmt::format("{:03}_{}", g, name);
}

NetworkGroupRow Schedule::row(std::size_t g) const {
  const NodeGroup& group = grouping_.groups[g];
  NetworkGroupRow r;
  for (const std::size_t n : group.nodes) {
    r.nodes.push_back(network_.nodes[n].name);
    r.kinds.push_back(network_.nodes[n].kind);
  }
  r.kind = shown_kind(network_.nodes[group.nodes[busiest_node(group.subgraph)]]);
  for (const auto& [tensor, array] : group.subgraph.arrays) {
    std::vector<std::string>& names = group.subgraph.node_of.contains(tensor) ? r.writes : r.reads;
    if (std::find(names.begin(), names.end(), array) == names.end()) names.push_back(array);
  }
  const expr::Expression& e = group.subgraph.expression;
  for (const expr::Stage& s : e.stages) r.op += (r.op.empty() ? "" : "; ") + s.text;
  r.sizes = sizes_of(e);
  r.operations = expr::operations_of(e);
  double cold = 0;
  for (const auto& [array, bytes] : touched_bytes(g)) {
    r.bytes += bytes;
    if (first_.at(array) == g && !uses_.writer(array)) cold += bytes;
  }
  r.speed_of_light_us = std::max(arithmetic_us(e, chip_), dram_us(in_sequence_ ? cold : r.bytes, chip_));
  if (!estimates_[g]) {
    r.error = group.best->error;
    return r;
  }
  const tile::RProgram& program = group.best->programs.front().program;
  r.program = ids_.at(group.best);
  for (const auto& [tensor, array] : group.subgraph.arrays) r.arrays.push_back({tensor, array});
  r.kernels = kernels_of(program, chip_).size();
  r.edges = edges_of(program);
  r.stages = stages_of(program, chip_, group.subgraph);
  r.passes = passes_of(program);
  r.us = estimates_[g]->total_us;
  if (const arch::DramLevel* dram = arch::dram_of(chip_); dram != nullptr)
    r.dram_bytes = in_sequence_ ? estimates_[g]->dram_read_bytes + estimates_[g]->dram_written_bytes
                                : estimates_[g]->level(dram->name).bytes;
  r.bound_by = estimates_[g]->terms[estimates_[g]->bottleneck].name;
  r.terms = timed_terms(*estimates_[g]);
  std::optional<std::string> lacking;
  if (const auto energy = energy_row_of(estimates_[g]->counts, *r.us, chip_, {}, lacking))
    r.energy_uj = energy->energy_uj;
  if (simulations_) set_simulation(simulations_->of(place_.at(g)), r);
  return r;
}

void Schedule::set_simulation(const RepeatedSimulation& of, NetworkGroupRow& r) const {
  if (of.error != nullptr) {
    r.error = "simulator: " + *of.error;
    return;
  }
  r.simulated_us = of.simulation->simulated_us;
  r.stall = longest_stall(*of.simulation).name;
  const arch::DramLevel* dram = arch::dram_of(chip_);
  for (const SimulatedLevel& l : of.simulation->levels)
    if (dram != nullptr && l.name == dram->name)
      r.simulated_dram_bytes = static_cast<double>(l.read_bytes + l.written_bytes);
}

std::map<std::string, double> Schedule::touched_bytes(std::size_t g) const {
  const expr::Expression& e = grouping_.groups[g].subgraph.expression;
  std::map<std::string, double> out;
  for (std::size_t t = 0; t < e.tensors.size(); ++t) {
    const auto array = grouping_.groups[g].subgraph.arrays.find(e.tensors[t].name);
    if (array == grouping_.groups[g].subgraph.arrays.end()) continue;
    const double all = chip_bytes(network_.tensors.at(array->second)),
                 share = expr::touched_elements(e, static_cast<int>(t)) / static_cast<double>(e.tensors[t].elements());
    double& bytes = out[array->second];
    bytes = std::min(all, bytes + share * all);
  }
  return out;
}

std::map<std::string, Schedule::Life> Schedule::lives() const {
  std::map<std::string, Life> out;
  for (std::size_t g = 0; g < grouping_.groups.size(); ++g) {
    std::set<std::string> written;
    for (const std::size_t n : grouping_.groups[g].nodes)
      for (const std::string& o : network_.nodes[n].outputs) written.insert(o);
    for (const auto& [tensor, array] : grouping_.groups[g].subgraph.arrays) {
      const auto [life, is_new] = out.try_emplace(array, Life{written.contains(array), g, g});
      life->second.last = uses_.is_result(array) ? grouping_.groups.size() : g;
    }
  }
  return out;
}

bool fits(const NetworkMemory& m, const arch::ArchSpec& chip, base::Diagnostics& diags, base::Position at) {
  const arch::HomeMemory home = arch::home_memory_of(chip);
  if (m.bytes() <= static_cast<double>(home.capacity.n)) return true;
  diags.error(at, fmt::format("{} of {} holds {:.4g} GB, and the network needs {:.4g}: {:.4g} of constants, {:.4g} of "
                              "inputs, {:.4g} of other tensors, most at node '{}'",
                              home.name, chip.name, 1e-9 * static_cast<double>(home.capacity.n), 1e-9 * m.bytes(),
                              1e-9 * m.constant_bytes, 1e-9 * m.input_bytes, 1e-9 * m.between_bytes, m.at));
  return false;
}

}  // namespace tilescope::api
