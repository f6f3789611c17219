// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the text of a YAML scalar begins, for messages about places within it.

#include <string_view>

#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::base {

// The place of the first character of a scalar's text: after its quote, or in the first line of a block scalar (| or
// >). `document` is the text that the scalar was read from.
Position text_at(const Value& scalar, std::string_view document);

}  // namespace tilescope::base
