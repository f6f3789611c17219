// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chip's files, read once, for callers that change the chip many times, such as a sweep.

#include <optional>
#include <string>
#include <vector>

#include "arch/layers.h"
#include "arch/load.h"
#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::arch {

class ChipSource {
 public:
  // Reads a device name or a file, as load_arch takes it; nullopt after an error.
  static std::optional<ChipSource> read(const std::string& name_or_path, base::Diagnostics& diags);

  // What load_arch returns for the overrides; sets `own` to the diagnostics. Any number of threads may call it.
  std::optional<ArchSpec> with(const std::vector<Override>& overrides, base::Diagnostics& own) const;
  // The chip's document as its files state it, without overrides.
  const base::Value& document() const { return layers_.chip; }

 private:
  ChipSource(Layers layers, std::optional<ArchSpec> stated, base::Diagnostics sources)
      : layers_(std::move(layers)), stated_(std::move(stated)), sources_(std::move(sources)) {}

  Layers layers_;
  std::optional<ArchSpec> stated_;  // without overrides, where the files describe a die
  base::Diagnostics sources_;       // the files' names, which places refer to
};

}  // namespace tilescope::arch
