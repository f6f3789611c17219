// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/fibers.h"

#include <sys/mman.h>

#include "backends/cuda/host/place.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tilescope::cuda::host {
namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// A sanitizer writes its report on the stack that it finds; pages that are never touched cost nothing.
constexpr std::size_t kStackBytes = 256 << 10;

// The address sanitizer has to know which stack is in use.
#if defined(__SANITIZE_ADDRESS__)
void before_switch(void** save, const void* bottom, std::size_t bytes) {
  __sanitizer_start_switch_fiber(save, bottom, bytes);
}
void after_switch(void* saved, const void** bottom, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(saved, bottom, bytes);
}
#else
void before_switch(void**, const void*, std::size_t) {}
void after_switch(void*, const void**, std::size_t*) {}
#endif

}  // namespace

Fibers::Fibers(int count, Body body) : body_(body), fibers_(static_cast<std::size_t>(count)) {
  for (Fiber& f : fibers_) {
    f.stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f.stack == MAP_FAILED) fail("no memory for the stacks of %d threads", count);
    f.context = make_fcontext(static_cast<char*>(f.stack) + kStackBytes, kStackBytes, &Fibers::enter);
  }
}

Fibers::~Fibers() {
  for (const Fiber& f : fibers_) munmap(f.stack, kStackBytes);
}

void Fibers::enter(transfer_t from) {
  auto* self = static_cast<Fibers*>(from.data);
  after_switch(nullptr, &self->caller_stack_, &self->caller_stack_bytes_);
  self->caller_ = from.fctx;
  for (;;) {
    self->body_();
    self->running_->ended = true;
    self->leave();
  }
}

bool Fibers::resume(int fiber) {
  Fiber& f = fibers_[static_cast<std::size_t>(fiber)];
  running_ = &f;
  f.ended = false;
  void* fake_stack = nullptr;
  before_switch(&fake_stack, f.stack, kStackBytes);
  f.context = jump_fcontext(f.context, this).fctx;
  after_switch(fake_stack, nullptr, nullptr);
  return !f.ended;
}

void Fibers::leave() {
  Fiber& f = *running_;
  before_switch(&f.fake_stack, caller_stack_, caller_stack_bytes_);
  caller_ = jump_fcontext(caller_, nullptr).fctx;
  after_switch(f.fake_stack, nullptr, nullptr);
}

void Fibers::pause() { leave(); }

}  // namespace tilescope::cuda::host
