// SPDX-License-Identifier: Apache-2.0
// A topology of SCALE-Sim (CSV), of convolutions or of products of matrices. Source of what a column means: its
// topology_utils.py. A layer of convolutions has ceil((extent - filter + stride) / stride) results along an axis; the
// last ones may read beyond the edge, which is zero here.

#include <array>
#include <cctype>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/parse_number.h"
#include "import/formats.h"
#include "import/suite_file.h"
#include "import/text_readers.h"

namespace tilescope::importers {
namespace {

// A column by its title, in small letters without blanks.
struct ColumnRow {
  std::string_view title, name, became;  // name: empty where it means nothing here, and why
};

constexpr ColumnRow kColumns[] = {
    {"layername", "id", "id"},
    {"layer", "id", "id"},
    {"ifmapheight", "h", "the shape of I, and with the filter and the stride the size of y"},
    {"ifmapwidth", "w", "the shape of I, and with the filter and the stride the size of x"},
    {"filterheight", "r", "the size of r"},
    {"filterwidth", "s", "the size of s"},
    {"channels", "c", "the size of c"},
    {"numfilter", "f", "the size of f"},
    {"numfilters", "f", "the size of f"},
    {"strides", "stride_h", "the factor of y, and of x where no column has its own"},
    {"stride", "stride_h", "the factor of y, and of x where no column has its own"},
    {"strideheight", "stride_h", "the factor of y"},
    {"stridewidth", "stride_w", "the factor of x"},
    {"batchsize", "n", "the size of n"},
    {"batch", "n", "the size of n"},
    {"m", "m", "the size of m"},
    {"n", "cols", "the size of n"},
    {"k", "k", "the size of k"},
    {"sparsity", "", "sparse weights are not described; the layer is dense here"},
    {"sparsityratio", "", "sparse weights are not described; the layer is dense here"},
};

const ColumnRow* column_of(std::string_view title) {
  for (const ColumnRow& c : kColumns)
    if (c.title == folded(title)) return &c;
  return nullptr;
}

struct ScalesimLayer {
  std::string id;
  base::Position at;
  std::map<std::string, std::int64_t, std::less<>> numbers;

  std::int64_t of(std::string_view name, std::int64_t absent = 0) const {
    const auto found = numbers.find(name);
    return found == numbers.end() ? absent : found->second;
  }
};

constexpr std::int64_t kMaxExtent = 1'000'000'000;

std::optional<ScalesimLayer> layer_of(const CsvRow& row, const CsvRow& titles, base::Diagnostics& diags) {
  ScalesimLayer out;
  out.at = row.front().at;
  const std::size_t errors = diags.count();
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i >= titles.size()) {
      diags.error(row[i].at, fmt::format("the value '{}' has no column; the first line has {} titles", row[i].text,
                                         titles.size()));
      break;
    }
    const ColumnRow* column = column_of(titles[i].text);
    if (column == nullptr || column->name.empty()) continue;
    if (column->name == "id") {
      out.id = row[i].text;
      continue;
    }
    const auto number = base::parse_integer<std::int64_t>(row[i].text);
    if (!number || *number < 1 || *number > kMaxExtent)
      diags.error(row[i].at, fmt::format("{}: expected a whole number from 1 to {}, got '{}'", titles[i].text,
                                         kMaxExtent, row[i].text));
    else
      out.numbers[std::string(column->name)] = *number;
  }
  if (diags.count() > errors) return std::nullopt;
  return out;
}

bool has_all(const ScalesimLayer& layer, std::initializer_list<std::string_view> names, base::Diagnostics& diags) {
  std::vector<std::string_view> missing;
  for (const std::string_view name : names)
    if (!layer.numbers.contains(name)) {
      for (const ColumnRow& c : kColumns)
        if (c.name == name) {
          missing.push_back(c.title);
          break;
        }
    }
  if (missing.empty()) return true;
  diags.error(layer.at,
              fmt::format("{}{}no value for {}", layer.id, layer.id.empty() ? "" : ": ", fmt::join(missing, ", ")));
  return false;
}

Coordinate axis(std::string name) { return {{{std::move(name), 1}}, 0}; }

SuiteOperator product(const ScalesimLayer& l) {
  SuiteOperator op{l.id, {"C", {axis("m"), axis("n")}, {}}, {}, true, {}, {}, {}, l.at, 1};
  op.operands = {{"A", {axis("m"), axis("k")}, {}}, {"B", {axis("k"), axis("n")}, {}}};
  op.loops = {{"m", l.of("m")}, {"n", l.of("cols")}, {"k", l.of("k")}};
  return op;
}

// A layer whose name has DP is depthwise: it runs once a channel, each time with one.
void make_depthwise(SuiteOperator& op) {
  for (Loop& l : op.loops)
    if (l.axis == "c") std::swap(l.size, op.count);
  op.operands.front().shape[1] = 1;
  op.comment = "DP: depthwise, a layer for each channel";
}

std::optional<SuiteOperator> convolution(const ScalesimLayer& l, base::Diagnostics& diags) {
  const std::int64_t down = l.of("stride_h"), across = l.of("stride_w", down), n = l.of("n", 1);
  if (l.of("r") > l.of("h") || l.of("s") > l.of("w")) {
    diags.error(l.at, fmt::format("{}: a filter of {}x{} is larger than its input of {}x{}", l.id, l.of("r"), l.of("s"),
                                  l.of("h"), l.of("w")));
    return std::nullopt;
  }
  const auto results = [](std::int64_t extent, std::int64_t filter, std::int64_t stride) {
    return (extent - filter + 2 * stride - 1) / stride;
  };
  SuiteOperator op{l.id, {"O", {axis("n"), axis("f"), axis("y"), axis("x")}, {}}, {}, true, {}, {}, {}, l.at, 1};
  Tensor in{"I", {axis("n"), axis("c"), {{{"y", down}, {"r", 1}}, 0}, {{{"x", across}, {"s", 1}}, 0}}, {}};
  in.shape = {n, l.of("c"), l.of("h"), l.of("w")};
  op.operands = {std::move(in), {"W", {axis("f"), axis("c"), axis("r"), axis("s")}, {}}};
  op.loops = {{"n", n},
              {"f", l.of("f")},
              {"y", results(l.of("h"), l.of("r"), down)},
              {"x", results(l.of("w"), l.of("s"), across)},
              {"c", l.of("c")},
              {"r", l.of("r")},
              {"s", l.of("s")}};
  if (l.id.find("DP") != std::string::npos) make_depthwise(op);
  return op;
}

// Columns that name each value's key.
std::vector<Key> keys_of_rows(const std::vector<CsvRow>& rows) {
  std::vector<Key> out;
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t c = 0; c < rows[i].size() && c < rows.front().size(); ++c)
      out.push_back({fmt::format("{}[{}]", rows.front()[c].text, i - 1), rows[i][c].text, rows.front()[c].at});
  return out;
}

}  // namespace

std::optional<Imported> import_scalesim(const Source& source, base::Diagnostics& diags) {
  const std::vector<CsvRow> rows = read_csv(source.text, source.id);
  if (rows.size() < 2) {
    diags.error({source.id, 0, 0}, "expected a line of titles and a line for each layer");
    return std::nullopt;
  }
  std::vector<Key> keys = keys_of_rows(rows);
  if (!check_number(keys, source.id, diags)) return std::nullopt;
  bool is_product = false;
  for (const CsvCell& title : rows.front()) is_product |= folded(title.text) == "k";
  SuiteFile file;
  file.head = {fmt::format("The topology {} of SCALE-Sim, from tilescope import.", source.file)};
  file.dtype = "f16";
  file.dtype_comment = "[E] the topology has none";
  for (auto row = rows.begin() + 1; row != rows.end(); ++row) {
    const auto layer = layer_of(*row, rows.front(), diags);
    if (!layer) continue;
    const bool whole = is_product ? has_all(*layer, {"m", "cols", "k"}, diags)
                                  : has_all(*layer, {"h", "w", "r", "s", "c", "f", "stride_h"}, diags);
    if (!whole) continue;
    if (auto op = is_product ? std::optional(product(*layer)) : convolution(*layer, diags))
      file.operators.push_back(std::move(*op));
  }
  if (!diags.ok()) return std::nullopt;
  Ledger ledger(std::move(keys));
  for (const CsvCell& title : rows.front()) {
    const ColumnRow* column = column_of(title.text);
    if (column == nullptr) continue;
    if (column->name.empty())
      ledger.leave(title.text, column->became);
    else
      ledger.take(title.text, column->became);
  }
  std::vector<std::string_view> titles;
  for (const ColumnRow& c : kColumns) titles.push_back(c.title);
  Imported out;
  out.kind = "suite";
  out.text = text_of(file);
  out.report = ledger.report(titles);
  if (!check(out.text, file, source.id, diags)) return std::nullopt;
  return out;
}

}  // namespace tilescope::importers
