// SPDX-License-Identifier: Apache-2.0
#include "base/option.h"

namespace tilescope::base {
namespace {

std::string& prefix() {
  static std::string text;
  return text;
}

}  // namespace

void spell_options_with(std::string_view text) { prefix() = text; }

std::string option(std::string_view name) { return prefix() + std::string(name); }

}  // namespace tilescope::base
