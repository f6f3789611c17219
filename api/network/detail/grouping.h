// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which nodes of a network share kernels: Welder's GraphConnecting (OSDI'23, section 4.2) over a whole network, judged
// by the model.

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/common/progress.h"
#include "api/construct.h"
#include "api/known_parts.h"
#include "api/network/detail/kept_programs.h"
#include "api/network/detail/loaded.h"
#include "arch/spec.h"
#include "base/choices.h"
#include "graph/subgraph.h"

namespace tilescope::api {

// The best program of every distinct expression that was asked for. Any number of threads may ask.
class BestPrograms {
 public:
  // `between`: which stages of several nodes may share kernels. A node alone is not taken apart: all of its stages may.
  // Programs are kept in a file of that name, and taken from there; nowhere where it is empty.
  BestPrograms(const arch::ArchSpec& chip, base::Fuse between, const std::string& log);

  // `nodes` is the number of nodes whose stages the expression has. The first call with an expression constructs its
  // programs for the chip, and other threads that ask for it wait; there are no programs where `error` says why.
  const Ranked& of(const expr::Expression& e, std::size_t nodes);
  std::size_t distinct() const { return found_.size(); }
  std::size_t constructed() const { return constructed_; }  // those of them that were not kept
  std::size_t kept_by_others() const { return kept_ ? kept_->of_other_versions() : 0; }
  const arch::ArchSpec& chip() const { return chip_; }

 private:
  const arch::ArchSpec& chip_;
  base::Fuse between_;
  std::map<base::Fuse, KnownParts> known_;  // of a node alone, and of several
  std::optional<KeptPrograms> kept_;
  std::mutex changing_;
  std::condition_variable found_one_;
  std::set<std::string> in_progress_;
  std::size_t constructed_ = 0;
  std::map<std::string, Ranked> found_;  // by which stages may share kernels, and expr::text_of
};

// Nodes that are compiled together, in ascending order.
struct NodeGroup {
  std::vector<std::size_t> nodes;
  graph::Subgraph subgraph;
  const Ranked* best = nullptr;
};

struct Grouping {
  std::vector<NodeGroup> groups;             // in an order in which they can run
  std::map<std::size_t, std::string> alone;  // nodes that no expression has, with the reason
};

// Begins with every node alone. Then each node, in the network's order, takes in the groups that write what it reads,
// the largest tensor first, where all that such a group writes is read in the node's group alone and the program of
// both together is faster than the two one after another and has fewer kernels. Where that group is one node that
// reduces twice, as a softmax does, the group that writes most of what it reads is tried with it first. A group that
// only moves elements is taken in by each of its readers, and is gone when all have it. With Fuse::kNone every node
// stays alone.
Grouping grouping_of(const graph::Network& network, const graph::Uses& uses, base::Fuse fuse, BestPrograms& best,
                     int jobs, const Progress& progress);

// The network with products of one input joined (graph/passes.h), those kinds of them with which the model finds all
// groups together faster. The same network where `fuse` leaves every node alone, and where simplifications were chosen
// by name. A kind at a time is tried, so that each costs a grouping.
LoadedNetwork with_joined_products(LoadedNetwork n, base::Fuse fuse, BestPrograms& best, int jobs,
                                   const Progress& progress);

}  // namespace tilescope::api
