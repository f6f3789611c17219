// SPDX-License-Identifier: Apache-2.0
#pragma once
// The documents that make one chip: its file, the files that it extends, and `--set` overrides, merged into one.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::arch {

struct Layers {
  base::Value chip;                     // merged; each value keeps the place where it was written
  std::vector<base::SourceId> sources;  // undermost first
  bool error_bands_hold = true;         // of the chip that they were measured on nothing was changed (arch/bands.h)

  // How far up the layer stands that wrote the value; all overrides count as one layer.
  int height_of(const base::Value& value) const;
};

// The chip's file and all that it extends. An `extends` names a file beside the one that says it, or a device (with or
// without .yaml).
std::optional<Layers> read_layers(const std::string& path, base::Diagnostics& diags);

// The same from a text that is not in a file; its `extends` looks in the folder of devices.
std::optional<Layers> read_layers_of_text(std::string_view text, const std::string& name, base::Diagnostics& diags);

// Takes a key out of a chip; false where it has none.
bool drop(base::Value& chip, std::string_view key);

// The file of that device name where it exists.
std::optional<std::string> device_file(std::string_view name);

// "; did you mean ...?" among the devices, or empty.
std::string similar_device(std::string_view name);

}  // namespace tilescope::arch
