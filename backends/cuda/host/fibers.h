// SPDX-License-Identifier: Apache-2.0
#pragma once
// One fiber for each thread of a block. Fibers are resumed in any order; each runs until it pauses or ends.

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <vector>

namespace tilescope::cuda::host {

class Fibers {
 public:
  // The function that every fiber runs. A fiber that is resumed after its end runs it again from the beginning.
  using Body = void (*)();

  Fibers(int count, Body body);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // Runs the fiber until it pauses (true) or ends (false).
  bool resume(int fiber);
  // Returns to the caller of resume(). Only the running fiber calls it.
  void pause();

 private:
  struct Fiber {
    boost::context::detail::fcontext_t context = nullptr;
    void* stack = nullptr;
    void* fake_stack = nullptr;  // the address sanitizer's
    bool ended = false;
  };
  static void enter(boost::context::detail::transfer_t from);
  void leave();

  Body body_;
  std::vector<Fiber> fibers_;
  Fiber* running_ = nullptr;
  boost::context::detail::fcontext_t caller_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
};

}  // namespace tilescope::cuda::host
