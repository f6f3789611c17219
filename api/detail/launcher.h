// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program that launches a program's kernels: api/launcher_program.cc.in with the launches of a document.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "arch/spec.h"
#include "base/document.h"

namespace tilescope::api {

// The text of api/launcher_program.cc.in.
std::string_view launcher_program();

// Least extents that integers of arrays index, by the array's name.
using IndexLimits = std::map<std::string, std::int64_t, std::less<>>;

// launch.cc for the arrays and kernels of a launch document (api/detail/launch_document.h), and its Makefile.
std::string launcher_text(const base::Value& document, std::string_view about, const IndexLimits& limits);
std::string launcher_makefile(const arch::ArchSpec& chip);

}  // namespace tilescope::api
