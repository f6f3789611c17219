// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory_resource>

namespace tilescope::base {

// The heap, with a count of the bytes that are allocated from it.
class CountedMemory : public std::pmr::memory_resource {
 public:
  std::size_t bytes() const { return bytes_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    bytes_ += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
    bytes_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  std::size_t bytes_ = 0;
};

}  // namespace tilescope::base
