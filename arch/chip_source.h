// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chip's files, read once for who changes the chip many times: a sweep.

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
  // Of a device name or a file, as load_arch takes it; nothing after an error.
  static std::optional<ChipSource> read(const std::string& name_or_path, base::Diagnostics& diags);

  // What load_arch gives; `own` is set to what is said about it. For any number of threads.
  std::optional<ArchSpec> with(const std::vector<Override>& overrides, base::Diagnostics& own) const;
  // The chip's document as its files say it.
  const base::Value& document() const { return layers_.chip; }

 private:
  ChipSource(Layers layers, base::Diagnostics sources) : layers_(std::move(layers)), sources_(std::move(sources)) {}

  Layers layers_;
  base::Diagnostics sources_;  // the files' names, which places refer to
};

}  // namespace tilescope::arch
