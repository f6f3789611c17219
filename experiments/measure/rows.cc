// SPDX-License-Identifier: Apache-2.0
#include "experiments/measure/rows.h"

#include <algorithm>

#include "api/given.h"
#include "base/hash.h"
#include "experiments/measure/measure.h"
#include "expr/infer.h"
#include "tile/program_json.h"

namespace tilescope::experiments {
namespace {

const base::Value* value_in(const base::Map& row, std::string_view key) {
  const auto found = std::find_if(row.begin(), row.end(), [key](const base::Entry& e) { return e.key == key; });
  return found == row.end() ? nullptr : &found->value;
}

}  // namespace

std::map<std::string, base::Map> read_kept_rows(const api::NamedText& file, base::Diagnostics& diags,
                                                std::string_view device) {
  std::map<std::string, base::Map> out;
  const base::SourceId source = diags.add_source(file.name);
  for (const auto& [number, line] : api::batch_lines(file.text)) {
    const bool cut_off = line.data() + line.size() == file.text.data() + file.text.size();
    base::Diagnostics unread;
    auto row = base::read_json_line(line, source, static_cast<std::uint32_t>(number), cut_off ? unread : diags);
    if (!row) continue;
    base::Map* entries = row->get_if<base::Map>();
    if (entries == nullptr || text_in(*entries, "key").empty())
      diags.error({source, static_cast<std::uint32_t>(number), 1}, "expected a row with its key");
    else if (device.empty() || text_in(*entries, "device") == device)
      out[text_in(*entries, "key")] = std::move(*entries);
  }
  return out;
}

MeasuredTimes times_in(const std::map<std::string, base::Map>& rows, std::string_view chip) {
  MeasuredTimes out;
  for (const auto& [key, row] : rows) {
    const auto us = number_in(row, "measured_us");
    if (!us || text_in(row, "chip") != chip || text_in(row, "l2") == "warm" || !text_in(row, "scale").empty()) continue;
    const std::string baseline = text_in(row, "baseline"), program = text_in(row, "program");
    if (baseline.empty()) {
      if (!program.empty()) out.programs[program] = {*us, number_in(row, "core_mhz")};  // a point of a curve has none
      continue;
    }
    const std::string of = text_in(row, "operator");
    if (of.empty()) continue;
    MeasuredTimes::Library& library = out.libraries[of];
    const bool moves = baseline == name_of(Baseline::kCopy), moved = library.name == name_of(Baseline::kCopy);
    if (library.name.empty() || (moves == moved ? *us < library.us : moved)) library = {baseline, *us};
  }
  return out;
}

std::string program_hash(const tile::RProgram& p, const arch::ArchSpec& a) {
  return base::content_hash(base::to_json(tile::to_document(p, a)));
}

std::string operator_text(const tile::RProgram& p) {
  std::string out;
  for (std::size_t s = 0; s < p.stages(); ++s) out += (s == 0 ? "" : "; ") + expr::text_of(p.space(s).expression);
  return out;
}

std::optional<double> number_in(const base::Map& row, std::string_view key) {
  const base::Value* v = value_in(row, key);
  if (v == nullptr) return std::nullopt;
  if (const auto* whole = v->get_if<std::int64_t>()) return static_cast<double>(*whole);
  const auto* real = v->get_if<double>();
  return real == nullptr ? std::nullopt : std::optional(*real);
}

std::string text_in(const base::Map& row, std::string_view key) {
  const base::Value* v = value_in(row, key);
  const auto* text = v == nullptr ? nullptr : v->get_if<std::string>();
  return text == nullptr ? std::string() : *text;
}

}  // namespace tilescope::experiments
