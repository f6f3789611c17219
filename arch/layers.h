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
  std::vector<base::SourceId> sources;  // lowest layer first
  bool error_bands_hold = true;         // no layer changes the chip that they were measured on (arch/bands.h)

  // The index of the layer that wrote the value, lowest first; all overrides count as one layer.
  int height_of(const base::Value& value) const;
};

// Reads the chip's file and all files that it extends. An `extends` names a file in the same folder as the file that
// states it, or a device (with or without .yaml). Returns nullopt after errors.
std::optional<Layers> read_layers(const std::string& path, base::Diagnostics& diags);

// Likewise for a text that is not in a file; its `extends` is looked up in the folder of devices.
std::optional<Layers> read_layers_of_text(std::string_view text, const std::string& name, base::Diagnostics& diags);

// Removes a key from a chip; false if it lacks the key.
bool drop(base::Value& chip, std::string_view key);

// The file of the device of that name; nullopt if there is none.
std::optional<std::string> device_file(std::string_view name);

// "; did you mean ...?" among the devices, or empty.
std::string similar_device(std::string_view name);

}  // namespace tilescope::arch
