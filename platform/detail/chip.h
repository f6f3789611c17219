// SPDX-License-Identifier: Apache-2.0
#pragma once
// What users name, read: chips, and the mistakes of any input as one exception; what they are told.

#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "include/tilescope/systemc.h"
#include "sim/common/report.h"

namespace tilescope::systemc {

// Throws std::runtime_error with all errors, a line each.
[[noreturn]] void refuse(const base::Diagnostics& diags);
arch::ArchSpec read_chip(const std::string& name_or_path, const std::vector<std::string>& overrides);

std::vector<LevelReport> reports_of(const std::vector<sim::LevelReport>& levels);

// An error of SystemC at the end of elaboration.
void refuse_unbound(const std::string& socket, const char* wants);

}  // namespace tilescope::systemc
