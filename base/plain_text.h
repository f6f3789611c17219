// SPDX-License-Identifier: Apache-2.0
#pragma once
// A value of a document as people read it: a text without its quotes, anything else as JSON.

#include <string>

#include "base/document.h"

namespace tilescope::base {

inline std::string plain_text(const Value& v) {
  const auto* text = v.get_if<std::string>();
  return text != nullptr ? *text : to_json(v);
}

}  // namespace tilescope::base
