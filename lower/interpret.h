// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs kernels statement by statement on real values, and finds what a kernel must not do: the slow reference for the
// emitted text.

#include <stdexcept>
#include <vector>

#include "expr/reference.h"
#include "lower/kernel.h"

namespace tilescope::lower {

// Thrown where a kernel reads what no thread wrote, reaches outside an array, lets two threads access one word between
// two barriers (one of them writing), or breaks a rule of lower/kernel.h. `what()` names kernel, statement, block and
// thread.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs all kernels. `globals` holds the inputs by position in Module::globals and receives the rest; values are rounded
// as expr/reference.h rounds them. Throws KernelError. The time is a few hundred nanoseconds for each access of each
// thread.
void interpret(const Module& m, const std::vector<double>& scalars, std::vector<expr::Values>& globals);

}  // namespace tilescope::lower
