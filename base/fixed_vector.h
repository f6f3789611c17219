#pragma once
// A vector of at most N values that lives where it stands: what the model's hot path uses for axis extents.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "base/check.h"

namespace tilescope::base {

template <class T, std::size_t N>
class FixedVector {
 public:
  using value_type = T;

  constexpr FixedVector() = default;
  constexpr FixedVector(std::initializer_list<T> values) {
    for (const T& v : values) push_back(v);
  }
  constexpr FixedVector(std::size_t count, const T& value) { assign(count, value); }

  constexpr void assign(std::size_t count, const T& value) {
    check(count <= N, "a FixedVector holds what it was sized for");
    size_ = count;
    std::fill_n(items_.begin(), count, value);
  }
  constexpr void push_back(const T& value) {
    check(size_ < N, "a FixedVector holds what it was sized for");
    items_[size_++] = value;
  }

  static constexpr std::size_t capacity() { return N; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](std::size_t i) { return items_[i]; }
  constexpr const T& operator[](std::size_t i) const { return items_[i]; }
  constexpr T& back() { return items_[size_ - 1]; }
  constexpr const T& back() const { return items_[size_ - 1]; }
  constexpr T* begin() { return items_.data(); }
  constexpr T* end() { return items_.data() + size_; }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }

  friend constexpr bool operator==(const FixedVector& a, const FixedVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<T, N> items_{};
  std::size_t size_ = 0;
};

}  // namespace tilescope::base
