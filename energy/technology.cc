// SPDX-License-Identifier: Apache-2.0
#include "energy/technology.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/document.h"
#include "base/fields.h"
#include "base/home.h"
#include "base/quantity.h"

namespace tilescope::energy {
namespace {

using base::Diagnostics;
using base::Value;

constexpr std::string_view kFolder = "energy/technology";

enum class Unit : std::uint8_t { kNone, kSquareMillimeters, kDollars, kPicojoules };

struct TableText {
  Table table;
  std::string_view file, key;
  std::string_view what;  // of a row, in messages
  Unit unit = Unit::kNone;
};

// In the order of Table.
constexpr std::array<TableText, kTables> kTexts = {{
    {Table::kDensity, "process", "density", "density"},
    {Table::kSramCell, "process", "sram_cell", "area of an SRAM cell", Unit::kSquareMillimeters},
    {Table::kWafer, "process", "wafer", "price of a wafer", Unit::kDollars},
    {Table::kDefects, "process", "defects", "density of defects"},
    {Table::kMultiplyAdd, "logic", "multiply_add", "transistors of a multiply-add"},
    {Table::kCore, "logic", "core", "transistors of a core's part"},
    {Table::kRegisterFile, "logic", "register_file", "coefficient of a register file"},
    {Table::kArrayEfficiency, "logic", "array_efficiency", "efficiency of an array"},
    {Table::kOther, "logic", "other", "area of the rest", Unit::kSquareMillimeters},
    {Table::kInterfaceBits, "interfaces", "interface_bits", "width of an interface"},
    {Table::kMemoryPhy, "interfaces", "memory_phy", "area of a memory PHY", Unit::kSquareMillimeters},
    {Table::kMemoryController, "interfaces", "memory_controller", "transistors of a memory controller"},
    {Table::kLinkPhy, "interfaces", "link_phy", "area of a link's PHY", Unit::kSquareMillimeters},
    {Table::kLinkController, "interfaces", "link_controller", "transistors of a link's controller"},
    {Table::kMemoryGigabyte, "price", "memory_gigabyte", "price of memory", Unit::kDollars},
    {Table::kPackage, "price", "package", "price of a package", Unit::kDollars},
    {Table::kYield, "price", "yield", "figure of yield"},
    {Table::kNodeEnergy, "energy", "node_energy", "energy"},
    {Table::kBankRead, "energy", "bank_read", "read of a bank", Unit::kPicojoules},
    {Table::kBankWidth, "energy", "bank_width", "read of a width", Unit::kPicojoules},
    {Table::kCacheRead, "energy", "cache_read", "read of a cache", Unit::kPicojoules},
    {Table::kArray, "energy", "array", "figure of an array"},
}};

const TableText& text_of(Table table) { return kTexts[static_cast<std::size_t>(table)]; }

// The rows that at() may ask for.
std::vector<std::string_view> required_rows(Table table) {
  switch (table) {
    case Table::kCore:
      return {"scheduler", "port", "port_bytes", "crosspoint"};
    case Table::kRegisterFile:
      return {"constant", "D", "W", "P", "DW", "DD", "WW", "PP", "DP", "WP", "ports", "max_depth", "density"};
    case Table::kOther:
      return {"other"};
    case Table::kYield:
      return {"clustering", "wafer_diameter"};
    case Table::kArray:
      return {"bank_read_bytes", "cache_read_bytes", "wire", "crosspoint"};
    default:
      return {};
  }
}

// The bytes that a row's name says, such as `4 KiB` or `32 bit`.
std::optional<double> bytes_in(const std::string& name) {
  const auto quantity = base::parse_quantity(name);
  return quantity && quantity->dimension == base::Dimension::kBytes ? std::optional(quantity->value) : std::nullopt;
}

bool is_by_bytes(Table table) {
  return table == Table::kArrayEfficiency || table == Table::kBankRead || table == Table::kBankWidth ||
         table == Table::kCacheRead;
}

const std::vector<std::string_view> kMarks = {"R", "R2", "C", "F", "P", "E"};

std::optional<double> value_of(const Value* v, Unit unit, Diagnostics& diags) {
  switch (unit) {
    case Unit::kNone:
      return base::as_number(v, "value", diags);
    case Unit::kSquareMillimeters:
      if (const auto area = base::as_square_millimeters(v, "value", diags)) return area->v;
      return std::nullopt;
    case Unit::kDollars:
      if (const auto price = base::as_dollars(v, "value", diags)) return price->v;
      return std::nullopt;
    case Unit::kPicojoules:
      if (const auto energy = base::as_picojoules(v, "value", diags)) return energy->v;
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Figure> read_row(const Value& row, const TableText& table, Diagnostics& diags) {
  base::Fields fields(row, fmt::format("a row of {}", table.key), diags);
  if (!row.is_map()) return std::nullopt;
  const auto name = base::as_text(fields.require("name"), "name", diags);
  const auto value = value_of(fields.require("value"), table.unit, diags);
  const auto mark = base::as_choice(fields.require("mark"), "mark", kMarks, diags);
  const auto source = base::as_text(fields.require("source"), "source", diags);
  fields.finish();
  if (!name || !value || !mark || !source) return std::nullopt;
  if (table.table != Table::kRegisterFile && (*value <= 0 || !std::isfinite(*value))) {
    diags.error(row.at, fmt::format("{} {}: expected a value above 0", table.key, *name));
    return std::nullopt;
  }
  if (is_by_bytes(table.table) && !bytes_in(*name)) {
    diags.error(row.at, fmt::format("{} {}: the name is no capacity such as '4 KiB'", table.key, *name));
    return std::nullopt;
  }
  return Figure{*name, *value, std::string(kMarks[*mark]), *source};
}

void read_table(const Value& list, const TableText& table, std::vector<Figure>& to, Diagnostics& diags) {
  const base::List* rows = base::as_list(&list, table.key, diags);
  if (rows == nullptr) return;
  for (const Value& row : *rows) {
    auto figure = read_row(row, table, diags);
    if (!figure) continue;
    if (std::any_of(to.begin(), to.end(), [&](const Figure& f) { return f.name == figure->name; }))
      diags.error(row.at, fmt::format("{}: two rows are named '{}'", table.key, figure->name));
    to.push_back(std::move(*figure));
  }
  if (to.empty()) diags.error(list.at, fmt::format("{} has no rows", table.key));
  if (is_by_bytes(table.table) && !std::is_sorted(to.begin(), to.end(), [](const Figure& a, const Figure& b) {
        return bytes_in(a.name) < bytes_in(b.name);
      }))
    diags.error(list.at, fmt::format("{}: expected rows of rising names", table.key));
  for (const std::string_view name : required_rows(table.table))
    if (std::none_of(to.begin(), to.end(), [&](const Figure& f) { return f.name == name; }))
      diags.error(list.at, fmt::format("{} lacks the row '{}'", table.key, name));
}

}  // namespace

std::string Figure::cited() const { return fmt::format("{} [{}]", source, mark); }

std::optional<Technology> Technology::read(Diagnostics& diags) { return read(base::home_path(kFolder), diags); }

std::optional<Technology> Technology::read(const std::string& folder, Diagnostics& diags) {
  const std::size_t before = diags.count();
  Technology out;
  for (auto table = kTexts.begin(); table != kTexts.end();) {
    const std::string_view file = table->file;
    const std::string path = fmt::format("{}/{}.yaml", folder, file);
    const base::SourceId source = diags.add_source(path);
    const auto text = base::read_file(path, source, diags);
    const auto document = text ? base::read_yaml(*text, source, diags) : std::nullopt;
    if (!document) return std::nullopt;
    base::Fields fields(*document, "the file", diags);
    for (; table != kTexts.end() && table->file == file; ++table)
      if (const Value* rows = fields.require(table->key))
        read_table(*rows, *table, out.tables_[static_cast<std::size_t>(table->table)], diags);
    fields.finish();
  }
  return diags.count() == before ? std::optional(std::move(out)) : std::nullopt;
}

const Technology& Technology::own() {
  static const Technology kOwn = [] {
    Diagnostics diags;
    auto read_in = read(diags);
    if (!read_in) throw std::runtime_error(fmt::format("{}", fmt::join(diags.formatted_errors(), "\n")));
    return std::move(*read_in);
  }();
  return kOwn;
}

std::vector<std::pair<double, double>> Technology::by_bytes(Table table) const {
  std::vector<std::pair<double, double>> out;
  for (const Figure& row : rows(table)) {
    const auto bytes = bytes_in(row.name);
    base::check(bytes.has_value(), "the rows of such a table are named by bytes");
    out.emplace_back(*bytes, row.value);
  }
  return out;
}

const Figure* Technology::find(Table table, std::string_view name) const {
  const std::vector<Figure>& all = rows(table);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Figure& f) { return f.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const Figure& Technology::at(Table table, std::string_view name) const {
  const Figure* figure = find(table, name);
  base::check(figure != nullptr, "the reader requires every row that is read by its name");
  return *figure;
}

std::string Technology::why_unknown(Table table, std::string_view name) const {
  std::vector<std::string_view> names;
  for (const Figure& f : rows(table)) names.push_back(f.name);
  const TableText& text = text_of(table);
  return fmt::format("no {} of '{}'; {}/{}.yaml knows {}; add a row with its source to {}", text.what, name, kFolder,
                     text.file, fmt::join(names, ", "), text.key);
}

}  // namespace tilescope::energy
