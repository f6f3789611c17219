// SPDX-License-Identifier: Apache-2.0
// Where the devices stand.

#include <algorithm>
#include <filesystem>

#include "arch/layers.h"
#include "arch/load.h"
#include "base/home.h"

namespace tilescope::arch {

std::string devices_folder() { return base::home_path("arch/devices"); }

std::vector<Device> list_devices() {
  std::vector<Device> devices;
  std::error_code failed;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(devices_folder(), failed))
    if (entry.path().extension() == ".yaml") devices.push_back({entry.path().stem().string(), entry.path().string()});
  std::sort(devices.begin(), devices.end(), [](const Device& a, const Device& b) { return a.name < b.name; });
  return devices;
}

std::optional<std::string> device_file(std::string_view name) {
  for (Device& device : list_devices())
    if (device.name == name) return std::move(device.path);
  return std::nullopt;
}

std::string similar_device(std::string_view name) {
  const std::vector<Device> devices = list_devices();
  std::vector<std::string_view> names;
  for (const Device& d : devices) names.push_back(d.name);
  return base::did_you_mean(name, names);
}

}  // namespace tilescope::arch
