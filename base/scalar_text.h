// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the text of a YAML scalar begins, for messages about places within it.

#include <string_view>

#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::base {

// The place of the first character of a scalar's text: behind its quote; of a block scalar (| or >), its first line's.
// `document` is what the scalar was read from.
Position text_at(const Value& scalar, std::string_view document);

}  // namespace tilescope::base
