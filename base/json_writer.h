// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many documents into one text.

#include <string>

#include "base/document.h"

namespace tilescope::base {

// What to_json (base/document.h) makes of the value, at the end of `out`.
void append_json(const Value& value, std::string& out, int indent = -1);

}  // namespace tilescope::base
