// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope network --table`.

#include <string>

#include "api/network/table.h"
#include "arch/spec.h"

namespace tilescope::cli {

// What is done, and where.
struct NetworkTableOptions {
  std::string axes, file;
  bool json = false, legend = false;
};

// Writes the table with its progress on stderr; returns the exit status. `how` needs no progress.
int write_network_table(const api::NetworkSource& source, const arch::ArchSpec& chip, api::TableHow how,
                        const NetworkTableOptions& o, base::Diagnostics& diags);

}  // namespace tilescope::cli
