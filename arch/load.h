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

// What a chip is loaded for. Levels that are described and used by no reader of the chip's class yet (of a cluster) are
// mistakes of a chip that is to run programs, and notes of one that is only looked at.
enum class Use : std::uint8_t { kRun, kLook };

// The chip of a device name (arch list) or of a file. Nothing where there is a mistake; notes say what a change of a
// cause made void (a stated peak).
std::optional<ArchSpec> load_arch(const std::string& name_or_path, const std::vector<Override>& overrides,
                                  base::Diagnostics& diags, Use use = Use::kRun);

// The same from a text that is not in a file, `name` in messages; `extends` is looked for in the folder of devices.
std::optional<ArchSpec> load_arch_text(std::string_view text, const std::string& name,
                                       const std::vector<Override>& overrides, base::Diagnostics& diags);

// Names of the devices that stand in the folder of devices, sorted, each with the path of its file.
struct Device {
  std::string name;
  std::string path;
};
std::vector<Device> list_devices();

// The folder of devices: arch/devices where base/home.h finds it.
std::string devices_folder();

// The JSON Schema (draft 7) that editors complete from, made of the same field table that the loader reads by.
base::Value schema();

// The chip with all its causes, its derived effects and where each stated figure stands, as a document for `arch show`.
base::Value to_document(const ArchSpec& a);

}  // namespace tilescope::arch
