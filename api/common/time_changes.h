// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the difference of two predicted times comes from, term by term: its parts add up to it.
//
// A predicted time is the longest of the terms that overlap, the sum of those that do not (latency, launch), and a rest
// where kernels of one program are bound by different terms. Between two chips
//
//     sums and rest   change by their difference
//     the longest     let every term move in a straight line from its left value to its right one; of each moment's
//                     change of the longest, all belongs to the term that is the longest then
//
// The second is the attribution of Aumann and Shapley for a maximum: a term that never bounds the time has no part in
// its change, and one that bounds it on the way has the part of that way.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/describe.h"

namespace tilescope::api {

// A term of a predicted time, as if it were alone.
struct TimedTerm {
  std::string name;
  double us = 0;
  bool overlaps = true;  // with the other overlapping ones; else it adds to their time
};

// Kernels that are compiled together, on one chip: a group of a network, an operator of a suite.
struct TimedKernels {
  std::vector<std::string> nodes;  // what they compute, by names that both chips share
  std::string kind;
  std::string program;  // kernels of one chip with equal texts are the same, met again
  double count = 1;     // how often they run; all figures are of one run
  std::size_t kernels = 0;
  std::optional<double> us, energy_uj;
  std::string bound_by;
  std::vector<TimedTerm> terms;
  std::string error;  // why there is no time
};

struct TermChange {
  std::string term;
  double left_us = 0, right_us = 0;  // of the term alone
  double change_us = 0;              // its part of the change of the time
};

template <class V>
void describe(V& v, base::Is<TermChange> auto& t) {
  v.field({"term", "", "A part of the predicted time; rest: kernels of one program bound by different terms."}, t.term);
  v.field({"left_us", "us", "The term alone, on the left chip."}, t.left_us);
  v.field({"right_us", "us", "The term alone, on the right chip."}, t.right_us);
  v.field({"change_us", "us", "Its part of the change of the time; all of them add up to it."}, t.change_us);
}

// The kernels of either chip that compute the same nodes. Figures are of all their occurrences.
struct KernelsChange {
  std::vector<std::string> nodes;
  std::string kind;
  double count = 1;  // occurrences
  std::size_t left_kernels = 0, right_kernels = 0;
  double left_us = 0, right_us = 0;
  std::string left_bound_by, right_bound_by;  // of the longest; empty where there is none
  std::optional<double> left_energy_uj, right_energy_uj;
  std::vector<TermChange> terms;
  std::string error;  // why a chip has no time for them; then there are no terms

  double change_us() const { return right_us - left_us; }
};

template <class V>
void describe(V& v, base::Is<KernelsChange> auto& k) {
  v.field({"nodes", "", "What the kernels compute."}, base::List(k.nodes.begin(), k.nodes.end()));
  v.field({"kind", "", "Kind of the node that computes most."}, k.kind);
  v.field({"count", "", "How often they occur; figures are of all occurrences."}, k.count);
  v.field({"left_kernels", "", "Kernels of one occurrence on the left chip."}, k.left_kernels);
  v.field({"right_kernels", "", "Kernels of one occurrence on the right chip."}, k.right_kernels);
  v.field({"left_us", "us", "Time by the model on the left chip."}, k.left_us);
  v.field({"right_us", "us", "Time by the model on the right chip."}, k.right_us);
  v.field({"left_bottleneck", "", "The term that takes longest alone, on the left chip."},
          base::unless_empty(k.left_bound_by));
  v.field({"right_bottleneck", "", "The term that takes longest alone, on the right chip."},
          base::unless_empty(k.right_bound_by));
  v.field({"left_energy_uj", "uJ", "Energy of the board meanwhile, on the left chip."}, k.left_energy_uj);
  v.field({"right_energy_uj", "uJ", "Energy of the board meanwhile, on the right chip."}, k.right_energy_uj);
  v.list({"terms", "", "What the change of the time comes from."}, k.terms);
  v.field({"error", "", "Why a chip has no time for them."}, base::unless_empty(k.error));
}

// Sums are over the kernels that have a time on both chips.
struct TimeChange {
  double left_us = 0, right_us = 0;
  std::size_t without_time = 0;        // occurrences that no sum holds
  std::vector<TermChange> terms;       // largest part first
  std::vector<KernelsChange> kernels;  // in the order of the left chip; equal ones once

  double change_us() const { return right_us - left_us; }
};

template <class V>
void describe(V& v, base::Is<TimeChange> auto& t) {
  v.field({"left_us", "us", "Time by the model on the left chip."}, t.left_us);
  v.field({"right_us", "us", "Time by the model on the right chip."}, t.right_us);
  v.field({"without_time", "", "Kernels that one of the chips has no time for; they are in no sum."}, t.without_time);
  v.list({"terms", "", "What the change comes from, largest part first."}, t.terms);
  v.list({"kernels", "", "Kernels that compute the same, in the order of the left chip."}, t.kernels);
}

// The parts of the change from one time to the other, those that are 0 on both sides left out.
std::vector<TermChange> term_changes(double left_us, const std::vector<TimedTerm>& left, double right_us,
                                     const std::vector<TimedTerm>& right);

// Kernels of the two chips belong together where they compute a node that each chip computes once. A chip that computes
// a node in several kernels, or in none of its own, has nothing to set against the other's kernel for it alone.
TimeChange time_change(const std::vector<TimedKernels>& left, const std::vector<TimedKernels>& right);

}  // namespace tilescope::api
