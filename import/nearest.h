// SPDX-License-Identifier: Apache-2.0
#pragma once
// The device of ours that a described chip is closest to, and the paths of its file that a table's paths mean.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/chip_source.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "import/table.h"

namespace tilescope::importers {

struct Base {
  std::string name;  // of the device
  arch::ChipSource source;
  arch::ArchSpec chip;
};

// The device of that name or file, of class gpu; nullopt after an error.
std::optional<Base> read_base(const std::string& name, base::Diagnostics& diags);

// A table's path as the device's file has it. Tables name levels by role (`memory.l2` is the cache that cores reach
// first, `memory.dram`, `memory.l1`, `memory.smem`, `memory.reg`, and `memory.local`, a core's
// memory: its L1 where that shares its bytes with the scratchpad, else the scratchpad), and `compute.MATRIX.f16` is the
// fastest matrix instruction of that type.
Resolved resolve(const Base& base, std::string_view path);

// What a device has at a table's path, in its base unit.
std::optional<double> number_at(const Base& base, std::string_view path);

// The distance of a device from figures: the mean over the figures that it has too of |ln(figure / its own)|; infinite
// if it has none of them.
double distance_of(const Base& base, const std::vector<Figure>& figures);

// The device of class gpu with the least distance from its own figures: `figures_of` says what the input comes to for
// a device. Of the devices whose instruction set is `target` if there are any, else of all of the vendor (empty: of
// all), with a note.
std::optional<Base> nearest(std::string_view target, std::string_view vendor,
                            const std::function<std::vector<Figure>(const Base&)>& figures_of, base::Position at,
                            base::Diagnostics& diags);

}  // namespace tilescope::importers
