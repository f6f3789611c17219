// SPDX-License-Identifier: Apache-2.0
#include "api/common/csv.h"

namespace tilescope::api {
namespace {

std::string csv_cell(const base::Value& v) {
  if (v.is_null()) return {};
  const auto* text = v.get_if<std::string>();
  if (text == nullptr) return base::to_json(v);
  if (text->find_first_of(",\"\r\n") == std::string::npos) return *text;
  std::string out = "\"";
  for (const char c : *text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

std::string csv_line(const std::vector<base::Value>& cells, std::size_t columns) {
  std::string line;
  for (std::size_t c = 0; c < columns; ++c) {
    if (c > 0) line += ',';
    if (c < cells.size()) line += csv_cell(cells[c]);
  }
  return line + '\n';
}

std::vector<CsvCell> csv_cells(std::string_view line) {
  std::vector<CsvCell> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      out.back().text += line[i++];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      out.push_back({{}, i + 1});
    else
      out.back().text += line[i];
  }
  return out;
}

}  // namespace tilescope::api
