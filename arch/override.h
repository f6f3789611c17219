// SPDX-License-Identifier: Apache-2.0
#pragma once
// `--set path=value` as a document to merge over the chip's.

#include <optional>
#include <string>
#include <string_view>

#include "arch/load.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::arch {

// The override as messages name it: `--set path=value`.
std::string name_of(const Override& override_);

// A document that holds the override's value at its path. Keys may contain dots (`compute.fma.f32.per_core`): at each
// step the longest key of the chip that fits is taken. A path that neither the chip nor the table of keys knows is an
// error.
std::optional<base::Value> document_of(const Override& override_, const base::Value& chip, base::Diagnostics& diags);

// The value in the chip's document at the path of an override, or null.
const base::Value* value_at(std::string_view path, const base::Value& chip);

}  // namespace tilescope::arch
