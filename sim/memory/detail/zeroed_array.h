// SPDX-License-Identifier: Apache-2.0
#pragma once
// An array of zeros that takes memory only where it is touched: large caches of which a program uses little.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace tilescope::sim {

// Elements are what zero bytes mean; nothing is constructed or destroyed.
template <class T>
class ZeroedArray {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  ZeroedArray() = default;
  explicit ZeroedArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    memory_.reset(std::calloc(size * sizeof(T) + alignof(T), 1));
    if (memory_ == nullptr) throw std::bad_alloc();
    const auto at = reinterpret_cast<std::uintptr_t>(memory_.get());
    data_ = reinterpret_cast<T*>((at + alignof(T) - 1) / alignof(T) * alignof(T));
  }
  ZeroedArray(ZeroedArray&& other) noexcept = default;
  ZeroedArray& operator=(ZeroedArray&& other) noexcept = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> memory_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tilescope::sim
