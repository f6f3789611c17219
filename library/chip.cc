// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "arch/key.h"
#include "arch/override.h"
#include "base/document.h"
#include "energy/area.h"
#include "energy/price.h"
#include "energy/technology.h"
#include "library/objects.h"

using namespace tilescope;

namespace tilescope::library {
namespace {

struct DeviceRow {
  std::string device, title, kind, path;
};

template <class V>
void describe(V& v, base::Is<DeviceRow> auto& r) {
  v.field({"device", "", "Name of the device."}, r.device);
  v.field({"title", "", "What it is."}, r.title);
  v.field({"class", "", "Class of the chip: how its cores work together."}, r.kind);
  v.field({"path", "", "File that describes it."}, r.path);
}

tilescope_chip* opened(tilescope_chip chip, base::Diagnostics& diags) {
  auto spec = load(chip, chip.changes, diags);
  if (!spec) return nullptr;
  chip.spec = std::move(*spec);
  return new tilescope_chip(std::move(chip));
}

// The area of the chip, and the technology that it was computed with.
struct Area {
  energy::Technology technology;
  energy::DieArea area;
};
std::optional<Area> area_of(const tilescope_chip& chip, base::Diagnostics& diags) {
  auto technology = energy::Technology::read(diags);
  if (!technology) return std::nullopt;
  auto area = energy::area_of(chip.spec, *technology, {diags.add_source(chip.name)}, diags);
  if (!area) return std::nullopt;
  return Area{std::move(*technology), std::move(*area)};
}

}  // namespace

std::optional<arch::ArchSpec> load(const tilescope_chip& chip, const std::vector<arch::Override>& changes,
                                   base::Diagnostics& diags) {
  return chip.text ? arch::load_arch_text(*chip.text, chip.name, changes, diags)
                   : arch::load_arch(chip.name, changes, diags);
}

}  // namespace tilescope::library

using namespace tilescope::library;

tilescope_table* tilescope_devices(tilescope_messages* messages) {
  return guarded<tilescope_table*>(messages, nullptr, [](base::Diagnostics& diags) {
    std::vector<DeviceRow> rows;
    for (const arch::Device& d : arch::list_devices()) {
      const auto a = arch::load_arch(d.path, {}, diags, arch::Use::kLook);
      if (a) rows.push_back({d.name, a->title.value_or(""), std::string(arch::name_of_choice(a->chip_class)), d.path});
    }
    return handle(std::make_unique<RowsTable<DeviceRow>>(std::move(rows)));
  });
}

tilescope_chip* tilescope_chip_open(const char* name_or_file, tilescope_messages* messages) {
  return guarded<tilescope_chip*>(messages, nullptr, [&](base::Diagnostics& diags) {
    return opened({given(name_or_file), std::nullopt, {}, {}}, diags);
  });
}

tilescope_chip* tilescope_chip_read(const char* yaml, const char* name, tilescope_messages* messages) {
  return guarded<tilescope_chip*>(
      messages, nullptr, [&](base::Diagnostics& diags) { return opened({given(name), given(yaml), {}, {}}, diags); });
}

tilescope_chip* tilescope_chip_with(const tilescope_chip* chip, const char* path, const char* value,
                                    tilescope_messages* messages) {
  return guarded<tilescope_chip*>(messages, nullptr, [&](base::Diagnostics& diags) {
    std::vector<arch::Override> changes = chip->changes;
    std::erase_if(changes, [&](const arch::Override& c) { return c.path == given(path); });
    changes.push_back({given(path), given(value)});
    return opened({chip->name, chip->text, std::move(changes), {}}, diags);
  });
}

void tilescope_chip_free(tilescope_chip* chip) { delete chip; }

const char* tilescope_chip_name(const tilescope_chip* chip) { return chip->spec.name.c_str(); }

char* tilescope_chip_value(const tilescope_chip* chip, const char* path, tilescope_messages* messages) {
  return guarded<char*>(messages, nullptr, [&](base::Diagnostics& diags) -> char* {
    const base::Value document = arch::to_document(chip->spec);
    const base::Value* value = arch::value_at(given(path), document);
    if (value != nullptr) return text_of(base::to_json(*value));
    diags.error({diags.add_source(given(path))}, fmt::format("{} has no such value", chip->spec.name));
    return nullptr;
  });
}

char* tilescope_chip_document(const tilescope_chip* chip) {
  return guarded<char*>(nullptr, nullptr,
                        [&](base::Diagnostics&) { return text_of(base::to_json(arch::to_document(chip->spec))); });
}

tilescope_table* tilescope_chip_area(const tilescope_chip* chip, tilescope_messages* messages) {
  return guarded<tilescope_table*>(messages, nullptr, [&](base::Diagnostics& diags) -> tilescope_table* {
    const auto found = area_of(*chip, diags);
    if (!found) return nullptr;
    return handle(std::make_unique<RowsTable<energy::AreaPart>>(
        found->area.parts, [area = found->area] { return base::Value(base::to_entries(area)); }));
  });
}

tilescope_table* tilescope_chip_price(const tilescope_chip* chip, tilescope_messages* messages) {
  return guarded<tilescope_table*>(messages, nullptr, [&](base::Diagnostics& diags) -> tilescope_table* {
    const auto found = area_of(*chip, diags);
    const auto price = found ? energy::price_of(chip->spec, found->area, found->technology, diags) : std::nullopt;
    if (!price) return nullptr;
    return handle(std::make_unique<RowsTable<energy::PricePart>>(
        price->parts, [price = *price] { return base::Value(base::to_entries(price)); }));
  });
}
