// SPDX-License-Identifier: Apache-2.0
#pragma once
// Closed queueing networks: how well blocks that share a core overlap. Solved by exact mean value analysis (Reiser and
// Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", Journal of the ACM 27(2), 1980). A block is a
// customer that visits every resource once per step and waits in between; resources serve one at a time. Between one
// block (the sum of all its times) and many (the busiest resource) nothing is fitted.

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <memory>

namespace tilescope::model {

// Networks are solved side by side, in the lanes of vectors: one number of each.
inline constexpr std::size_t kLanes = 16;
struct alignas(64) Lanes {
  double of[kLanes];
};

// Loops over lanes, of the function that stands behind it, become the vectors of the machine at hand. A file that has
// some is compiled with -ffp-contract=off, so that vectors of any width compute alike.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define TILESCOPE_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TILESCOPE_VECTORS
#endif

inline constexpr std::size_t kMaxResources = 10;

// The networks of one vector.
struct NetworkLanes {
  std::array<Lanes, kMaxResources> demand;  // cycles that a customer needs each resource in a step
  Lanes waiting;  // cycles between: less than none where customers are at several resources at a time
};

// Networks and questions to them, all to one network answered by one analysis. Answers do not depend on what else is
// asked, to the last bit, on any machine.
class Networks {
 public:
  // Adds so many vectors, which are to be written whole, and returns the place of the first one's first network. The
  // place of one in lane l of the vector v is kLanes * v + l.
  std::size_t add_vectors(std::size_t count);
  NetworkLanes& vector(std::size_t v) { return vectors_[v]; }

  // How long a step of all of so many customers of a network takes. Its place among the questions.
  std::size_t ask(std::size_t network, int customers);
  std::size_t questions() const { return questions_.size(); }
  // Answers all questions, with 256 bytes for each customer of the one that asks for most. Throws std::bad_alloc.
  void solve();
  // Cycles; 0 of no customers, and where these wait for so much less than nothing that none are left.
  double cycles(std::size_t question) const { return questions_[question].cycles; }

  void clear();

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Question {
    std::size_t network = 0;
    int customers = 0;
    std::size_t before = kNone;  // the one before it of the same vector
    double cycles = 0;
  };
  // Of the networks of a vector: customers at most, and the last question.
  struct NetworkDemand {
    int most = 0;
    std::size_t last = kNone;
  };
  // The standard allocator aligns what needs it.
  boost::container::small_vector<NetworkLanes, 2, std::allocator<NetworkLanes>> vectors_;
  boost::container::small_vector<NetworkDemand, 2> asked_;
  boost::container::small_vector<Question, 32> questions_;
};

}  // namespace tilescope::model
