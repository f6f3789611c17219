// SPDX-License-Identifier: Apache-2.0
// Every number of every device is heard: changed, it changes a limit, a prediction, a program, a simulation, or is
// refused. What nothing answers to stands in arch/unused_keys.h, and nothing else does.

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arch/chip_source.h"
#include "arch/numbers.h"
#include "arch/unused_keys.h"
#include "base/quantity.h"
#include "tests/agree/listener.h"
#include "tests/support/build.h"
#include "tests/support/expected.h"

namespace tilescope::tests {
namespace {

using arch::ArchSpec;
using arch::Override;

// A number with what it is changed to: first what programs notice most, then what they notice elsewhere.
struct Changed {
  std::string path;
  std::vector<Override> first, then;
};

Changed changed(const arch::Number& n) {
  Changed out{n.path, {}, {}};
  const auto add = [&](double value, std::vector<Override>& to) {
    if (n.whole) value = std::floor(value);
    if (value > 0 && value != n.value) to.push_back(arch::set_to(n, value));
  };
  for (const double factor : {2.0, 0.5}) add(n.value * factor, out.first);
  for (const double factor : {4.0, 0.25, 0.125}) add(n.value * factor, out.then);
  if (!n.whole) return out;
  for (const double step : {1.0, -1.0}) add(n.value + step, out.then);
  return out;
}

// Numbers that are no causes: ratios, bands, other people's constants, shapes of instructions; as the file has them.
void add_scalars(const std::string& path, const base::Value& v, std::vector<Changed>& to) {
  if (const auto* map = v.get_if<base::Map>())
    for (const base::Entry& e : *map) add_scalars(path + '.' + e.key, e.value, to);
  Changed out{path, {}, {}};
  if (const auto* n = v.get_if<std::int64_t>())
    for (const std::int64_t value : std::set{*n * 2, *n / 2, *n + 1, *n - 1})
      out.first.push_back({path, fmt::format("{}", value)});
  if (const auto* x = v.get_if<double>())
    for (const double factor : {0.9, 1.05, 0.5}) out.first.push_back({path, fmt::format("{}", *x * factor)});
  if (const auto* text = v.get_if<std::string>(); text != nullptr && base::parse_quantity(*text)) {
    const std::size_t space = text->find(' ');
    for (const double factor : {2.0, 0.5})
      out.first.push_back({path, fmt::format("{}{}", std::stod(*text) * factor, text->substr(space))});
  }
  if (!out.first.empty()) to.push_back(std::move(out));
}

std::vector<Changed> numbers_of(const ArchSpec& a, const base::Value& document) {
  std::vector<Changed> out;
  for (const arch::Number& n : arch::numbers_of(a)) out.push_back(changed(n));
  for (const char* key : {"calibration", "error_bands", "baselines"})
    if (const base::Value* v = document.find(key)) add_scalars(key, *v, out);
  const base::Value* compute = document.find("compute");
  const base::List* units = compute == nullptr ? nullptr : compute->get_if<base::List>();
  for (std::size_t i = 0; units != nullptr && i < units->size(); ++i)
    if (const base::Value* shape = (*units)[i].find("shape"))
      add_scalars("compute." + a.compute[i].name + ".shape", *shape, out);
  for (const arch::Level& l : a.memory)
    if (const auto* dram = std::get_if<arch::DramLevel>(&l)) {
      const std::string path = "memory." + dram->name + ".dual_command_bus";
      out.push_back({path, {{path, dram->dual_command_bus ? "false" : "true"}}, {}});
    }
  return out;
}

std::string text_of(const Changed& n) { return n.path + '=' + n.first.front().value; }

// The texts of a chip's numbers by their paths, to see which another chip inherits as they are.
std::set<std::string> texts_of(const std::vector<Changed>& numbers) {
  std::set<std::string> out;
  for (const Changed& n : numbers)
    if (!n.first.empty()) out.insert(text_of(n));
  return out;
}

// What the device's file extends; empty where it stands alone.
std::string base_of(const arch::Device& device) {
  base::Diagnostics diags;
  const auto document = base::read_yaml(text_of_file(device.path), diags.add_source(device.path), diags);
  const base::Value* extends = document->find("extends");
  if (extends == nullptr) return {};
  return std::filesystem::path(device.path).parent_path() / *extends->get_if<std::string>();
}

std::vector<arch::Device> devices() {
  std::vector<arch::Device> out = arch::list_devices();
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(arch::devices_folder()) / "memory"))
    if (file.path().extension() == ".yaml" &&
        std::none_of(out.begin(), out.end(), [&](const arch::Device& d) { return d.path == file.path(); }))
      out.push_back({file.path().stem(), file.path()});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

struct Legal {
  std::vector<ArchSpec> chips;
  bool refused = false;
};

struct Source {
  explicit Source(const std::string& path)
      : files([&] {
          base::Diagnostics diags;
          return arch::ChipSource::read(path, diags).value();
        }()),
        chip([&] {
          base::Diagnostics diags;
          auto a = files.with({}, diags);
          require_no_errors(diags);
          return std::move(*a);
        }()),
        numbers(numbers_of(chip, files.document())) {}

  // The chips with one change each that are chips, and whether some are none.
  Legal legal(const std::vector<Override>& changes) const {
    Legal out;
    for (const Override& o : changes) {
      base::Diagnostics diags;
      auto a = files.with({o}, diags);
      if (a && diags.ok())
        out.chips.push_back(std::move(*a));
      else
        out.refused = true;
    }
    return out;
  }

  arch::ChipSource files;
  ArchSpec chip;
  std::vector<Changed> numbers;
};

class Hears : public testing::TestWithParam<arch::Device> {};

TEST_P(Hears, EveryNumber) {
  const Source device(GetParam().path);
  const std::string base = base_of(GetParam());
  const std::set<std::string> inherited = base.empty() ? std::set<std::string>{} : texts_of(Source(base).numbers);
  const Listener listener(device.chip);
  for (const Changed& n : device.numbers) {
    if (n.first.empty() || inherited.count(text_of(n)) > 0) continue;
    const Legal first = device.legal(n.first);
    std::string heard = listener.hears(first.chips);
    const arch::UnusedKey* listed = arch::unheard_number(device.chip, n.path);
    if (listed != nullptr) {
      EXPECT_EQ(heard, "") << n.path << ": is heard, and arch/unused_keys.cc says that it is not: " << listed->reason;
      continue;
    }
    if (heard.empty() && first.refused) heard = "the loader";
    if (heard.empty()) heard = listener.hears(device.legal(n.then).chips);
    EXPECT_NE(heard, "") << n.path << ": nothing answers, and arch/unused_keys.cc does not say why";
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Hears, testing::ValuesIn(devices()),
                         [](const auto& device) { return device.param.name; });

// The list is of keys that are.
TEST(HearsList, NamesKeysOfDevices) {
  std::set<const arch::UnusedKey*> met;
  for (const arch::Device& d : devices()) {
    const Source device(d.path);
    for (const Changed& n : device.numbers) met.insert(arch::unheard_number(device.chip, n.path));
  }
  for (const arch::UnusedKey& key : arch::unused_keys())
    EXPECT_TRUE(met.count(&key) > 0) << key.path << ": no device has such a number";
}

}  // namespace
}  // namespace tilescope::tests
