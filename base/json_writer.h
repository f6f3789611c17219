// SPDX-License-Identifier: Apache-2.0
#pragma once
// Appends JSON documents to one text.

#include <string>

#include "base/document.h"

namespace tilescope::base {

// Appends to `out` the text that to_json (base/document.h) makes of the value.
void append_json(const Value& value, std::string& out, int indent = -1);

}  // namespace tilescope::base
