// SPDX-License-Identifier: Apache-2.0
#pragma once
// From YAML to a checked ArchSpec: reads a chip, resolves `extends`, applies `--set` overrides, and reports every
// mistake with its place.

#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::arch {

// One `--set path=value`; the path is the YAML's own (`memory.smem.banks`, `compute.fma.f32.per_core`).
struct Override {
  std::string path;
  std::string value;  // YAML text
};

// What a chip is loaded for. Levels that a class of chips may describe and that nothing uses yet (of cluster scope) are
// mistakes with kRun and notes with kLook.
enum class Use : std::uint8_t { kRun, kLook };

// Loads the chip of a device name (arch list) or of a file. Returns nullopt if there is a mistake. Notes say which
// stated figures (peaks) no longer hold because their causes were changed.
std::optional<ArchSpec> load_arch(const std::string& name_or_path, const std::vector<Override>& overrides,
                                  base::Diagnostics& diags, Use use = Use::kRun);

// Likewise for a text that is not in a file. Messages call it `name`; its `extends` is looked up in the folder of
// devices.
std::optional<ArchSpec> load_arch_text(std::string_view text, const std::string& name,
                                       const std::vector<Override>& overrides, base::Diagnostics& diags);

// The names of the devices in the folder of devices, sorted, each with the path of its file.
struct Device {
  std::string name;
  std::string path;
};
std::vector<Device> list_devices();

// The folder of devices: arch/devices where base/home.h finds it.
std::string devices_folder();

// The JSON Schema (draft 7) for completion in editors, built from the table of keys that the loader uses.
base::Value schema();

// The chip with all its causes and derived effects, as a document for `arch show`.
base::Value to_document(const ArchSpec& a);

}  // namespace tilescope::arch
