// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cost model's prediction for one program, with the chip's own names, described once (base/describe.h).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/common/counts.h"
#include "base/describe.h"

namespace tilescope::api {

using base::to_entries;

struct TermRow {
  std::string name;  // issue, arithmetic, scratchpad, ..., launch
  double us = 0;
};

struct LevelRow {
  std::string name;  // as the chip names it: dram, l2, l1, smem
  double bytes = 0;
  double transactions = 0;
  double conflict_ratio = 1;
  double time_us = 0;
};

template <class V>
void describe(V& v, base::Is<LevelRow> auto& l) {
  v.field({"bytes", "B", "Bytes that pass the level."}, l.bytes);
  v.field({"transactions", "", "Transactions of the level: bursts, sectors, bank passes."}, l.transactions);
  v.field({"conflict_ratio", "", "Passes over those without bank conflicts."}, l.conflict_ratio);
  v.field({"time_us", "us", "The time that the level alone would take."}, l.time_us);
}

// The 80 % interval of measured times, from the chip's error bands.
struct TimeBand {
  double low_us = 0, high_us = 0;
  bool measured = true;  // for this chip, kind and element type; else taken from the nearest band of the chip's file
};

template <class V>
void describe(V& v, base::Is<TimeBand> auto& b) {
  v.field({"low_us", "us", "Lower end of the 80 % interval of measured times."}, b.low_us);
  v.field({"high_us", "us", "Upper end of the 80 % interval of measured times."}, b.high_us);
  v.flag({"band_measured", "", "Whether the interval was measured on this chip, for this kind and element type."},
         b.measured, true);
}

struct DramRow {
  double read_bytes = 0, written_bytes = 0;
  double dirty_bytes = 0;  // part of written_bytes
};

template <class V>
void describe(V& v, base::Is<DramRow> auto& d) {
  v.field({"dram_read_bytes", "B", "Bytes read from the DRAM by all kernels of the program."}, d.read_bytes);
  v.field({"dram_written_bytes", "B", "Bytes written to the DRAM by all kernels of the program."}, d.written_bytes);
  v.field({"dirty_bytes", "B", "Part of the written bytes that a cache still holds at the end."}, d.dirty_bytes);
}

struct Prediction {
  double predicted_us = 0;
  std::optional<TimeBand> band;  // absent where the chip has none for the program
  std::string bottleneck;
  std::vector<TermRow> terms;    // of all nodes together
  std::vector<LevelRow> levels;  // outermost first
  std::optional<DramRow> dram;   // only of programs of several nodes on SIMT cores
  double occupancy_ratio = 0;    // of the longest node, as are the members up to `waves`
  std::string occupancy_limit;
  std::int64_t registers_per_thread = 0;
  std::int64_t blocks = 0;
  double waves = 0;
  std::optional<double> speed_of_light_ratio;  // only of programs on SIMT cores
  std::optional<WorkCounts> counts;            // likewise
  std::optional<EnergyRow> energy;             // where the chip's file has figures for it
  std::optional<std::string> no_energy;        // which it lacks, where it has some
};

template <class V>
void describe(V& v, base::Is<Prediction> auto& p) {
  v.field({"predicted_us", "us", "Time by the model."}, p.predicted_us);
  v.part(p.band);
  v.field({"bottleneck", "", "The term that takes longest alone."}, p.bottleneck);
  v.numbers({{"terms", "us", "Parts of the predicted time, each as if it were all."}, "_us", "term."}, p.terms,
            &TermRow::us);
  v.rows({{"levels", "", "Traffic of each level of the chip's memory."}, "", "level."}, p.levels);
  v.part(p.dram);
  v.field({"occupancy_ratio", "", "Warps that a core runs over those that it could."}, p.occupancy_ratio);
  v.field({"occupancy_limit", "", "What limits the warps of a core."}, p.occupancy_limit);
  v.field({"registers_per_thread", "", "32-bit registers of a thread."}, p.registers_per_thread);
  v.field({"blocks", "", "Blocks of the longest node."}, p.blocks);
  v.field({"waves", "", "Blocks over those that the whole chip runs at once."}, p.waves);
  v.field({"speed_of_light_ratio", "", "The longer of the arithmetic and the DRAM term, over the predicted time."},
          p.speed_of_light_ratio);
  v.part(p.counts);
  v.part(p.energy);
  v.field({"no_energy", "", "Keys that the chip's file lacks for an energy."}, p.no_energy);
}

}  // namespace tilescope::api
