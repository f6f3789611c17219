// SPDX-License-Identifier: Apache-2.0
#include "tests/support/count_allocations.h"

#include <cstdlib>
#include <new>

namespace tilescope {

std::atomic<long> tests::allocations{0};

namespace {

void* counted(std::size_t size) {
  ++tests::allocations;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}

void* counted(std::size_t size, std::align_val_t alignment) {
  ++tests::allocations;
  const auto to = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(to, (size + to - 1) / to * to)) return p;
  throw std::bad_alloc();
}

}  // namespace
}  // namespace tilescope

void* operator new(std::size_t size) { return tilescope::counted(size); }
void* operator new[](std::size_t size) { return tilescope::counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return tilescope::counted(size, alignment); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return tilescope::counted(size, alignment); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return ++tilescope::tests::allocations, std::malloc(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return ++tilescope::tests::allocations, std::malloc(size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
