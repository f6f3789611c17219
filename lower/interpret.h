// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs kernels statement by statement on real values, and finds what a kernel may not do: the slow reference for the
// emitted text.

#include <stdexcept>
#include <vector>

#include "expr/reference.h"
#include "lower/kernel.h"

namespace tilescope::lower {

// A kernel that reads what no thread wrote, reaches outside an array, lets two threads touch one word between two
// barriers (one of them writing), or breaks a promise of lower/kernel.h. `what()` names kernel, statement, block and
// thread.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs all kernels. `globals` holds the inputs by position in Module::globals and receives the rest; values are rounded
// as expr/reference.h rounds them. Time is the work of all threads, a few hundred nanoseconds an access.
void interpret(const Module& m, const std::vector<double>& scalars, std::vector<expr::Values>& globals);

}  // namespace tilescope::lower
