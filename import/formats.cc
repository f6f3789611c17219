// SPDX-License-Identifier: Apache-2.0
#include "import/formats.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "api/diff.h"
#include "arch/load.h"
#include "arch/override.h"
#include "base/parse_number.h"
#include "base/quantity.h"
#include "import/chip_file.h"

namespace tilescope::importers {
namespace {

constexpr std::size_t kMaxKeys = 10'000;

std::vector<arch::Override> overrides_of(const std::vector<Figure>& figures) {
  std::vector<arch::Override> out;
  for (const Figure& f : figures) out.push_back({f.path, in_quotes(f.value)});
  return out;
}

// What is wrong with the figures, each at the key of the input that it follows from.
void report_at_keys(const base::Diagnostics& own, const std::vector<Figure>& figures, base::SourceId whole,
                    base::Diagnostics& diags) {
  for (const base::Diagnostic& d : own.errors()) {
    const std::string& name = own.source_name(d.at.source);
    const auto figure = std::find_if(figures.begin(), figures.end(), [&](const Figure& f) {
      return arch::name_of(arch::Override{f.path, in_quotes(f.value)}) == name;
    });
    if (figure != figures.end() && figure->at.line > 0)
      diags.error(figure->at, d.text);
    else
      diags.error({whole, 0, 0}, d.text);
  }
}

// A die that has at least what the chip enables: the device's, scaled as it scales them.
void add_die(const Base& base, const arch::ArchSpec& chip, std::vector<FileFigure>& to) {
  if (!chip.die || !base.chip.die) return;
  if (chip.die->cores && chip.die->cores != base.chip.die->cores)
    to.push_back({"die.cores", fmt::format("{}", *chip.die->cores), "[E] as many spares as " + base.name});
  for (const auto& [level, built] : chip.die->caches) {
    const auto was = base.chip.die->caches.find(level);
    if (was != base.chip.die->caches.end() && was->second.capacity != built.capacity)
      to.push_back({fmt::format("die.caches.{}.capacity", level), fmt::format("{} B", built.capacity.n),
                    "[E] as many spares as " + base.name});
  }
}

// A stated peak is dropped where one of its causes is stated again; it follows from them.
bool is_peak(std::string_view path) { return path.ends_with(".peak_gflops") || path.ends_with(".peak_gbps"); }

std::vector<Difference> differences_from(const Base& base, const arch::ArchSpec& chip) {
  std::vector<Difference> out;
  for (const api::ChipDifference& d : api::differences_of(base.chip, chip))
    if (!d.derived && d.path != "name" && d.path != "title" && !(d.right.is_null() && is_peak(d.path)))
      out.push_back({d.path, d.left, d.right});
  return out;
}

// Whether a device's value is that of a figure, in whatever units.
bool is_same(const base::Value& own, const std::string& value) {
  const auto* text = own.get_if<std::string>();
  const auto a = base::parse_quantity(text == nullptr ? std::string() : *text), b = base::parse_quantity(value);
  if (a && b) return a->dimension == b->dimension && a->value == b->value;
  return (text == nullptr ? base::to_json(own) : *text) == value;
}

// The figures that are not the device's already, so that the file says what differs.
std::vector<Figure> changed(const Base& base, const std::vector<Figure>& figures) {
  std::vector<Figure> out;
  for (const Figure& f : figures) {
    const base::Value* own = arch::value_at(f.path, base.source.document());
    if (own == nullptr || !is_same(*own, f.value)) out.push_back(f);
  }
  return out;
}

// A line of a text, counted from 1, without the blanks before it.
std::string_view line_at(std::string_view text, std::uint32_t line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

}  // namespace

std::string comment_of(const Source& source, const Figure& figure) {
  if (const std::size_t mark = figure.rule.find("[E]"); mark != std::string::npos) return figure.rule.substr(mark);
  if (figure.at.line == 0) return "[S] " + figure.rule;
  return fmt::format("[S] {}:{}: {}", source.file, figure.at.line, figure.rule);
}

std::optional<std::int64_t> whole_of(const std::vector<Figure>& figures, std::string_view path) {
  for (const Figure& f : figures)
    if (f.path == path) return base::parse_integer<std::int64_t>(f.value.substr(0, f.value.find(' ')));
  return std::nullopt;
}

bool check_number(const std::vector<Key>& keys, base::SourceId source, base::Diagnostics& diags) {
  if (keys.size() <= kMaxKeys) return true;
  diags.error({source, 0, 0}, fmt::format("{} values; at most {} are read", keys.size(), kMaxKeys));
  return false;
}

std::optional<Imported> chip_like_ours(const Source& source, std::vector<Key> keys, const Table& table,
                                       std::string_view target, std::string_view vendor, base::Diagnostics& diags) {
  split_parts(keys, table.parts, diags);
  if (!diags.ok() || !check_number(keys, source.id, diags)) return std::nullopt;
  const auto figures_for = [&](const Base& base, base::Diagnostics& own) {
    Ledger scratch(keys);
    return apply(
        table, scratch, [&](std::string_view path) { return resolve(base, path); },
        [&](std::string_view path) { return number_at(base, path); }, own);
  };
  const base::Position whole{source.id, 0, 0};
  auto base = source.like.empty() ? nearest(
                                        target, vendor,
                                        [&](const Base& b) {
                                          base::Diagnostics own;
                                          return figures_for(b, own);
                                        },
                                        whole, diags)
                                  : read_base(source.like, diags);
  if (!base) return std::nullopt;
  Ledger ledger(std::move(keys));
  const std::vector<Figure> figures = apply(
      table, ledger, [&](std::string_view path) { return resolve(*base, path); },
      [&](std::string_view path) { return number_at(*base, path); }, diags);
  if (!diags.ok()) return std::nullopt;
  base::Diagnostics own;
  const auto chip = base->source.with(overrides_of(figures), own);
  if (!chip) {
    report_at_keys(own, figures, source.id, diags);
    return std::nullopt;
  }
  ChipFile file;
  file.head = {fmt::format("From {} by tilescope import.", source.file),
               fmt::format("Figures that stand here are that file's, all others {}'s. Marks: [S] published source, [E] "
                           "estimate.",
                           base->name)};
  file.extends = base->name;
  file.name = source.name;
  file.title = fmt::format("{}, as {} has it", base->chip.title.value_or(base->name), source.file);
  for (const Figure& f : changed(*base, figures)) file.figures.push_back({f.path, f.value, comment_of(source, f)});
  add_die(*base, *chip, file.figures);
  Imported out;
  out.kind = "chip";
  out.name = file.name;
  out.base = base->name;
  out.text = text_of(file, base->source.document(), diags);
  out.report = ledger.report(known_keys(table));
  out.differences = differences_from(*base, *chip);
  return out;
}

std::optional<Imported> memory_of(const Source& source, std::vector<Key> keys, const Table& table,
                                  const AddFigures& add, base::Diagnostics& diags) {
  split_parts(keys, table.parts, diags);
  if (!diags.ok() || !check_number(keys, source.id, diags)) return std::nullopt;
  Ledger ledger(std::move(keys));
  std::vector<Figure> figures = apply(
      table, ledger, [](std::string_view path) { return Resolved{std::string(path), {}}; },
      [](std::string_view) { return std::nullopt; }, diags);
  if (diags.ok()) add(ledger, figures, diags);
  if (!diags.ok()) return std::nullopt;
  ChipFile file;
  file.head = {fmt::format("From {} by tilescope import. Marks: [S] published source, [E] estimate.", source.file)};
  file.name = source.name;
  file.title = fmt::format("memory of {}", source.file);
  file.chip_class = "memory";
  file.figures = {{"memory.dram.scope", "device", ""}, {"memory.dram.kind", "dram", ""}};
  for (const Figure& f : figures) file.figures.push_back({f.path, f.value, comment_of(source, f)});
  const base::Value levels = base::Map{{"memory", base::Map{{"dram", base::Map{{"kind", "dram"}}}}}};
  Imported out;
  out.kind = "chip";
  out.name = file.name;
  out.text = text_of(file, levels, diags);
  out.report = ledger.report(known_keys(table));
  if (!diags.ok()) return std::nullopt;
  base::Diagnostics own;
  if (arch::load_arch_text(out.text, source.file, {}, own)) return out;
  // A mistake in a line of the text that was made is one at the key that the line follows from.
  for (const base::Diagnostic& d : own.errors()) {
    const std::string_view line = line_at(out.text, d.at.line);
    const auto figure = std::find_if(figures.begin(), figures.end(), [&](const Figure& f) {
      return line.starts_with(fmt::format("{}: {}", f.path.substr(f.path.rfind('.') + 1), in_quotes(f.value)));
    });
    diags.error(figure == figures.end() || figure->at.line == 0 ? base::Position{source.id, 0, 0} : figure->at, d.text);
  }
  return std::nullopt;
}

}  // namespace tilescope::importers
