// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the figures of a chip's file come from: the mark and the remark behind each key (docs/chips.md).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace tilescope::arch {

// One figure of a file, or a map or list that one line writes as a whole.
struct FigureSource {
  std::vector<std::string> path;  // the YAML's keys; of a list's item its name
  std::string value;              // as the file writes it
  std::string mark;               // one letter, or empty
  std::string remark;             // what follows the mark, or empty
  std::string file;
  std::uint32_t line = 0;
};

// What a line says behind its value: `# [D] V100 white paper` has the mark D. Without a mark both are empty.
struct Remark {
  std::string mark, text;
};
Remark remark_of(std::string_view line);

// All figures of a chip and of the files that it extends, in the order of the chip's document, with texts that bear a
// mark, but for what states its source by a key: `calibration`, `error_bands`, `baselines`, `compiler`. Takes a device
// name or a file, as load_arch does; empty after an error.
std::vector<FigureSource> figure_sources(const std::string& name_or_path, base::Diagnostics& diags);

}  // namespace tilescope::arch
