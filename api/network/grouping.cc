// SPDX-License-Identifier: Apache-2.0
#include "api/network/detail/grouping.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "api/common/parallel.h"
#include "api/kernels.h"
#include "expr/infer.h"

namespace tilescope::api {
namespace {

// Beyond these nodes an expression has too many stages in any case.
constexpr std::size_t kMostNodes = expr::kMaxStages;

std::optional<double> time_of(const Ranked& r) {
  return r.programs.empty() ? std::nullopt : std::optional(r.programs.front().estimate.total_us);
}

class Connecting {
 public:
  Connecting(const graph::Network& network, const graph::Uses& uses, const arch::ArchSpec& chip, BestPrograms& best)
      : network_(network), uses_(uses), chip_(chip), best_(best) {}

  void add_alone(std::size_t node, std::optional<NodeGroup> group) {
    if (group) groups_.emplace(node, *std::move(group));
    group_of_[node] = node;
  }

  // Lets the group of `node` take in what it can of the groups that write its inputs.
  void connect(std::size_t node) {
    if (!groups_.contains(node)) return;
    std::set<std::size_t> refused;
    while (const auto next = largest_producer(node, refused)) {
      const bool taken = take_in(with_producer_of(*next), node) || take_in({*next}, node);
      if (!taken || groups_.contains(*next)) refused.insert(*next);  // a copy that others read stays
    }
  }

  std::vector<NodeGroup> take() {
    std::vector<NodeGroup> out;
    for (auto& [last, group] : groups_)  // by the last node: all inputs are there
      if (!is_in_every_reader(last)) out.push_back(std::move(group));
    return out;
  }

 private:
  // The group that writes the largest tensor that `node` reads, of those that may be taken in.
  std::optional<std::size_t> largest_producer(std::size_t node, const std::set<std::size_t>& refused) const {
    std::optional<std::size_t> found;
    double most = -1;
    for (const graph::InputOfStages& i : network_.nodes[node].stages.inputs) {
      const std::string& tensor = network_.nodes[node].inputs[static_cast<std::size_t>(i.input)];
      const auto writer = uses_.writer(uses_.root(tensor));
      if (!writer) continue;
      const std::size_t group = group_of_.at(*writer);
      if (group == node || refused.contains(group) || !groups_.contains(group)) continue;
      const double bytes = graph::bytes_of(network_.tensors.at(tensor));
      if (bytes <= most || (!feeds_only(group, node) && !is_copy(group))) continue;
      most = bytes;
      found = group;
    }
    return found;
  }

  // A node that reduces twice, as a softmax does, behind the group that writes most of what it reads, where nothing
  // else reads that: with a reader they may be fastest together, as the two products of attention are with what lies
  // between. Nothing where there is none.
  std::vector<std::size_t> with_producer_of(std::size_t group) const {
    const NodeGroup& own = groups_.at(group);
    const std::vector<expr::Stage>& stages = own.subgraph.expression.stages;
    const auto reductions = std::count_if(stages.begin(), stages.end(),
                                          [](const expr::Stage& s) { return s.reducer != expr::Reducer::kNone; });
    const auto before = own.nodes.size() == 1 && reductions > 1 ? largest_producer(group, {}) : std::nullopt;
    return before && feeds_only(*before, group) ? std::vector<std::size_t>{*before, group} : std::vector<std::size_t>{};
  }

  // Whether all that the nodes of `group` write is read by themselves and in the group of `reader`.
  bool feeds_only(std::size_t group, std::size_t reader) const {
    for (const std::size_t n : groups_.at(group).nodes) {
      if (group_of_.at(n) != group) continue;  // a copy, which other groups hold too
      for (const std::string& output : network_.nodes[n].outputs) {
        if (output.empty()) continue;
        const std::string& root = uses_.root(output);
        if (uses_.writer(root) != n) continue;
        if (uses_.is_result(root)) return false;
        for (const std::size_t r : uses_.readers(root))
          if (group_of_.at(r) != group && group_of_.at(r) != reader) return false;
      }
    }
    return true;
  }

  // Whether the group only moves elements, of which every reader can take its own in at no cost: slices, transposed
  // tensors.
  bool is_copy(std::size_t group) const {
    const std::vector<expr::Stage>& stages = groups_.at(group).subgraph.expression.stages;
    return !uses_.is_result(root_of(group)) && std::all_of(stages.begin(), stages.end(), [](const expr::Stage& s) {
      return s.body.size() == 1 && s.reducer == expr::Reducer::kNone && s.body[0].kind == expr::NodeKind::kRead;
    });
  }

  const std::string& root_of(std::size_t group) const { return uses_.root(network_.nodes[group].outputs.front()); }

  std::set<std::size_t> reading_groups(std::size_t group) const {
    std::set<std::size_t> out;
    for (const std::size_t r : uses_.readers(root_of(group))) out.insert(group_of_.at(r));
    return out;
  }

  // Whether all that read what a copy writes have taken it in.
  bool is_in_every_reader(std::size_t group) const {
    if (!is_copy(group)) return false;
    const std::set<std::size_t> readers = reading_groups(group);
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](std::size_t r) {
      const auto reader = groups_.find(r);
      return reader != groups_.end() &&
             std::binary_search(reader->second.nodes.begin(), reader->second.nodes.end(), group);
    });
  }

  std::size_t kernels(const Ranked& r) const { return kernels_of(r.programs.front().program, chip_).size(); }

  // `producers` feed each other, one after the next, and the last of them the group of `node`.
  bool take_in(const std::vector<std::size_t>& producers, std::size_t node) {
    if (producers.empty()) return false;
    const std::size_t last = producers.back();
    const auto readers = static_cast<double>(feeds_only(last, node) ? 1 : reading_groups(last).size());
    if (readers > 1 && producers.size() > 1) return false;
    NodeGroup all = groups_.at(node);
    std::optional<double> apart = time_of(*all.best);
    std::size_t kernels_apart = apart ? kernels(*all.best) : 0;
    for (const std::size_t p : producers) {
      const NodeGroup& g = groups_.at(p);
      const auto own = time_of(*g.best);
      if (!apart || !own) return false;
      *apart += *own / readers;
      kernels_apart += kernels(*g.best);
      std::vector<std::size_t> nodes;
      std::set_union(all.nodes.begin(), all.nodes.end(), g.nodes.begin(), g.nodes.end(), std::back_inserter(nodes));
      all.nodes = std::move(nodes);
    }
    if (all.nodes.size() > kMostNodes) return false;
    std::string refusal;
    auto subgraph = graph::subgraph_of(network_, uses_, all.nodes, refusal);
    if (!subgraph) return false;
    all.subgraph = *std::move(subgraph);
    all.best = &best_.of(all.subgraph.expression, all.nodes.size());
    const auto together = time_of(*all.best);
    if (!together || *together >= *apart) return false;
    // Kernels apart are no reason to be together, though one's results may still be in the cache: they are in any
    // order.
    if (kernels(*all.best) >= kernels_apart) return false;
    if (readers == 1)
      for (const std::size_t p : producers) {
        for (const std::size_t n : groups_.at(p).nodes)
          if (group_of_[n] == p) group_of_[n] = node;
        groups_.erase(p);
      }
    groups_[node] = std::move(all);
    return true;
  }

  const graph::Network& network_;
  const graph::Uses& uses_;
  const arch::ArchSpec& chip_;
  BestPrograms& best_;
  std::map<std::size_t, NodeGroup> groups_;  // by their last nodes
  std::map<std::size_t, std::size_t> group_of_;
};

}  // namespace

BestPrograms::BestPrograms(const arch::ArchSpec& chip, base::Fuse between, const std::string& log)
    : chip_(chip), between_(between) {
  for (const base::Fuse fuse : {base::Fuse::kAll, between}) known_.try_emplace(fuse);
  if (!log.empty()) kept_.emplace(log, chip);
}

const Ranked& BestPrograms::of(const expr::Expression& e, std::size_t nodes) {
  const base::Fuse fuse = nodes == 1 ? base::Fuse::kAll : between_;
  const std::string text = fmt::format("{} {}", static_cast<int>(fuse), expr::text_of(e));
  {
    std::unique_lock lock(changing_);
    found_one_.wait(lock, [&] { return !in_progress_.contains(text); });
    if (const auto known = found_.find(text); known != found_.end()) return known->second;
    in_progress_.insert(text);
  }
  std::optional<Ranked> made;
  bool is_new = false;
  try {
    made = kept_ ? kept_->find(text) : std::nullopt;
    is_new = !made;
    if (is_new) made = construct(e, chip_, {{}, 1, {.fuse = fuse}, &known_.at(fuse)});
    if (is_new && kept_) kept_->add(text, *made);
  } catch (...) {
    const std::lock_guard lock(changing_);
    in_progress_.erase(text);
    found_one_.notify_all();
    throw;
  }
  const std::lock_guard lock(changing_);
  in_progress_.erase(text);
  found_one_.notify_all();
  constructed_ += is_new ? 1 : 0;
  return found_.emplace(text, *std::move(made)).first->second;
}

Grouping grouping_of(const graph::Network& network, const graph::Uses& uses, base::Fuse fuse, BestPrograms& best,
                     int jobs, const Progress& progress) {
  Grouping out;
  std::vector<std::optional<NodeGroup>> alone(network.nodes.size());
  std::map<std::string, const expr::Expression*> distinct;
  for (std::size_t n = 0; n < network.nodes.size(); ++n) {
    if (network.nodes[n].stages.text.empty()) continue;
    std::string refusal;
    auto subgraph = graph::subgraph_of(network, uses, {n}, refusal);
    if (!subgraph) {
      out.alone[n] = refusal;
      continue;
    }
    alone[n] = NodeGroup{{n}, *std::move(subgraph), nullptr};
    distinct.emplace(expr::text_of(alone[n]->subgraph.expression), &alone[n]->subgraph.expression);
  }
  std::vector<const expr::Expression*> work;
  for (const auto& [text, e] : distinct) work.push_back(e);
  parallel_for(work.size(), jobs, [&] { return [&](std::size_t i) { best.of(*work[i], 1); }; });
  Connecting connecting(network, uses, best.chip(), best);
  for (std::size_t n = 0; n < alone.size(); ++n) {
    if (alone[n]) alone[n]->best = &best.of(alone[n]->subgraph.expression, 1);
    connecting.add_alone(n, std::move(alone[n]));
  }
  for (std::size_t n = 0; n < alone.size(); ++n) {
    if (fuse != base::Fuse::kNone) connecting.connect(n);
    progress(n + 1, alone.size());
  }
  out.groups = connecting.take();
  return out;
}

}  // namespace tilescope::api
