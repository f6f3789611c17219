#pragma once
// Division of non-negative numbers by one divisor many times, without the machine's slow instruction.

#include <bit>
#include <cstdint>

namespace tilescope::sim {

class Divisor {
 public:
  explicit Divisor(std::int64_t n)
      : n_(n),
        shift_(std::has_single_bit(static_cast<std::uint64_t>(n)) ? std::countr_zero(static_cast<std::uint64_t>(n))
                                                                  : -1),
        inverse_(1.0 / static_cast<double>(n)) {}

  std::int64_t value() const { return n_; }
  // a / n for 0 <= a < 2^52: the estimate is off by one at most.
  std::int64_t quotient(std::int64_t a) const {
    if (shift_ >= 0) return a >> shift_;
    auto q = static_cast<std::int64_t>(static_cast<double>(a) * inverse_);
    const std::int64_t rest = a - q * n_;
    q += (rest >= n_ ? 1 : 0) - (rest < 0 ? 1 : 0);
    return q;
  }
  std::int64_t rest(std::int64_t a) const { return a - quotient(a) * n_; }

 private:
  std::int64_t n_;
  int shift_;
  double inverse_;
};

// One of 0 .. n-1, evenly, by a number whose bits are spread (mixed()); n < 2^32.
inline std::int64_t one_of(std::uint64_t spread, std::int64_t n) {
  return static_cast<std::int64_t>(((spread >> 32) * static_cast<std::uint64_t>(n)) >> 32);
}

// Spreads a number over all bits (the finalizer of splitmix64): for sets, banks and slices that strides cannot single
// out.
inline std::uint64_t mixed(std::int64_t n) {
  auto z = static_cast<std::uint64_t>(n) + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace tilescope::sim
