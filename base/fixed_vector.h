// SPDX-License-Identifier: Apache-2.0
#pragma once
// A vector of at most N values that are stored in the object itself. The model's hot path uses it for axis extents.

#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <initializer_list>

namespace tilescope::base {

// Boost's static_vector, which throws std::bad_alloc beyond N, with pointers as iterators for spans and loops.
template <class T, std::size_t N>
class FixedVector : public boost::container::static_vector<T, N> {
  using Base = boost::container::static_vector<T, N>;

 public:
  FixedVector() = default;
  FixedVector(std::initializer_list<T> values) : Base(values) {}
  FixedVector(std::size_t count, const T& value) : Base(count, value) {}

  T* begin() { return Base::data(); }
  T* end() { return Base::data() + Base::size(); }
  const T* begin() const { return Base::data(); }
  const T* end() const { return Base::data() + Base::size(); }
};

}  // namespace tilescope::base
