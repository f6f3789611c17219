// SPDX-License-Identifier: Apache-2.0
#pragma once
// The configurations that a published policy ranks for all stages of an operator as one group: `--search welder-open`.

#include <cstdint>
#include <string>
#include <vector>

#include "base/document.h"

namespace tilescope::api {

// One configuration for people.
struct ConfigurationRow {
  std::string tile, steps;  // block tile of the output; steps of all reduced axes
  double traffic_bytes = 0;
  std::int64_t smem_bytes = 0, blocks_per_core = 0, waves = 0, blocks = 0, threads = 0;
  double score = 0;
};

struct Configurations {
  std::vector<ConfigurationRow> rows;  // best first
  base::Value document;                // docs/json.md, compile
  std::string error;                   // why there are none
};

}  // namespace tilescope::api
