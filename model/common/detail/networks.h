// SPDX-License-Identifier: Apache-2.0
#pragma once
// Closed queueing networks: how well blocks that share a core overlap. Solved by exact mean value analysis (Reiser and
// Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", Journal of the ACM 27(2), 1980). A block is a
// customer that visits every resource once per step and waits in between; resources serve one at a time. Between one
// block (the sum of all its times) and many (the busiest resource) nothing is fitted.

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>

namespace tilescope::model {

inline constexpr std::size_t kMaxResources = 10;
// Cycles that a customer needs each resource in a step.
using Demand = std::array<double, kMaxResources>;

// Networks and questions to them, which are answered together: the networks in the lanes of vectors, all questions to
// one of them by one analysis. Answers do not depend on what else is asked, to the last bit, on any machine.
class Networks {
 public:
  // A network, whose customers wait for `waiting` cycles in a step: less than none where they are at several resources
  // at a time. Its place among the networks: that of an equal one where there is one from the place `since` on.
  std::size_t add(const Demand& demand, double waiting, std::size_t since);
  std::size_t size() const { return networks_.size(); }
  // How long a step of all of so many customers takes. Its place among the questions.
  std::size_t ask(std::size_t network, int customers);

  // Answers all questions. Throws std::bad_alloc.
  void solve();
  // Cycles; 0 of no customers, and where these wait for so much less than nothing that none are left.
  double cycles(std::size_t question) const { return questions_[question].cycles; }

  void clear();

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Network {
    Demand demand{};
    double waiting = 0;
    int most = 0;                  // customers that it is asked about
    std::size_t question = kNone;  // the last one
  };
  struct Question {
    int customers = 0;
    std::size_t before = kNone;  // of the same network
    double cycles = 0;
  };

  void solve_together(const std::size_t* networks, std::size_t count);

  boost::container::small_vector<Network, 16> networks_;
  boost::container::small_vector<Question, 32> questions_;
};

}  // namespace tilescope::model
