// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division by one divisor many times, rounding down, without the machine's slow instruction.

#include <bit>
#include <cstdint>

namespace tilescope::base {

class Divisor {
 public:
  explicit Divisor(std::int64_t n)
      : n_(n),
        shift_(std::has_single_bit(static_cast<std::uint64_t>(n)) ? std::countr_zero(static_cast<std::uint64_t>(n))
                                                                  : -1),
        inverse_(1.0 / static_cast<double>(n)) {}

  std::int64_t value() const { return n_; }
  // a / n for |a| < 2^52: the estimate is off by one at most.
  std::int64_t quotient(std::int64_t a) const {
    if (shift_ >= 0) return a >> shift_;
    auto q = static_cast<std::int64_t>(static_cast<double>(a) * inverse_);
    const std::int64_t rest = a - q * n_;
    q += (rest >= n_ ? 1 : 0) - (rest < 0 ? 1 : 0);
    return q;
  }
  std::int64_t rest(std::int64_t a) const { return shift_ >= 0 ? a & (n_ - 1) : a - quotient(a) * n_; }

 private:
  std::int64_t n_;
  int shift_;
  double inverse_;
};

}  // namespace tilescope::base
