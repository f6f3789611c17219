// SPDX-License-Identifier: Apache-2.0
#pragma once
// Wrong code and wrong input are different events: a bug throws InternalError from here, a user's mistake is a
// Diagnostic (base/diagnostics.h).

#include <stdexcept>
#include <string>
#include <string_view>

namespace tilescope::base {

// A bug: an invariant of the code that does not hold. Only main() and the tests catch it.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws InternalError with the caller's place when `ok` is false; `claim` says what should have been true.
constexpr void check(bool ok, std::string_view claim, const char* file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  if (!ok) throw InternalError(std::string(file) + ":" + std::to_string(line) + ": bug: " + std::string(claim));
}

}  // namespace tilescope::base
