// SPDX-License-Identifier: Apache-2.0
// Tests expect messages as the command line prints them.

#include "base/option.h"

namespace {

[[maybe_unused]] const bool kSpelled = (tilescope::base::spell_options_with("--"), true);

}  // namespace
