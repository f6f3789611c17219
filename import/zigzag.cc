// SPDX-License-Identifier: Apache-2.0
// A workload of ZigZag (YAML): layers, each an equation over loops, whose relations give coordinates of the input.
// Source of what a key means: its workload documents.

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "base/fields.h"
#include "base/parse_number.h"
#include "import/formats.h"
#include "import/suite_file.h"

namespace tilescope::importers {
namespace {

using base::Diagnostics;
using base::Position;
using base::Value;

// Bits of an operand as an element type of ours. ZigZag's are integers; of 16 bits ours are floats.
struct PrecisionRow {
  std::int64_t bits;
  std::string_view dtype;
};
constexpr PrecisionRow kPrecisions[] = {{8, "i8"}, {16, "f16"}, {32, "f32"}};

constexpr std::int64_t kMaxZigzagSize = 1'000'000'000'000;

std::string without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isspace(static_cast<unsigned char>(c)) == 0) out += c;
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return text;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

class ZigzagLayer {
 public:
  ZigzagLayer(const Value& layer, std::size_t index, Ledger& ledger, Diagnostics& diags)
      : layer_(layer), path_(fmt::format("[{}].", index)), ledger_(ledger), diags_(diags) {}

  std::optional<SuiteOperator> read() {
    if (!layer_.is_map()) return fail(layer_.at, "expected a layer, got " + layer_.describe());
    const std::size_t errors = diags_.count();
    op_.at = layer_.at;
    read_name();
    read_loops();
    if (diags_.count() > errors) return std::nullopt;  // what follows would name the loops that are missing again
    read_relations();
    read_padding();
    if (diags_.count() > errors) return std::nullopt;
    read_equation();
    read_precision();
    ledger_.leave(path_ + "operand_source", "layers run one by one; a sequence finds what they read by name and size");
    ledger_.leave(path_ + "constant_operands", "an operand of no earlier layer, as one is here by default");
    for (const char* key :
         {"core_allocation", "spatial_mapping", "spatial_mapping_hint", "temporal_ordering", "memory_operand_links"})
      ledger_.leave(path_ + key, "a mapping; programs here are constructed");
    if (diags_.count() > errors) return std::nullopt;
    return op_;
  }

 private:
  std::nullopt_t fail(Position at, std::string text) {
    diags_.error(at, std::move(text));
    return std::nullopt;
  }

  const Value* take(std::string_view key, std::string_view became) {
    ledger_.take(path_ + std::string(key), became);
    return layer_.find(key);
  }

  const Value* require(std::string_view key, std::string_view became) {
    const Value* v = take(key, became);
    if (v == nullptr) fail(layer_.at, fmt::format("the layer lacks the key '{}'", key));
    return v;
  }

  void read_name() {
    const Value* id = take("id", "id");
    const Value* name = take("name", "id");
    const Value* type = take("operator_type", "id");
    const auto text = [](const Value* v) {
      const auto* t = v == nullptr ? nullptr : v->get_if<std::string>();
      return t != nullptr ? *t : v == nullptr ? std::string() : base::to_json(*v);
    };
    op_.id = text(name);
    if (op_.id.empty()) op_.id = type == nullptr ? "layer" : text(type);
    if (id != nullptr) op_.id += '_' + text(id);
  }

  void read_loops() {
    const Value* dims = require("loop_dims", "axes of op");
    const Value* sizes = require("loop_sizes", "sizes");
    const auto* names = base::as_list(dims, "loop_dims", diags_);
    const auto* numbers = base::as_list(sizes, "loop_sizes", diags_);
    if (names == nullptr || numbers == nullptr) return;
    if (names->size() != numbers->size())
      return void(fail(sizes->at, fmt::format("loop_sizes: {} sizes of {} loop_dims", numbers->size(), names->size())));
    for (std::size_t i = 0; i < names->size(); ++i) {
      const auto name = base::as_text(&(*names)[i], "loop_dims", diags_);
      const auto size = base::as_integer(&(*numbers)[i], "loop_sizes", {1, kMaxZigzagSize}, diags_);
      if (!name || !size) continue;
      if (axis_of(*name) != nullptr) fail((*names)[i].at, fmt::format("loop_dims: '{}' is there twice", *name));
      op_.loops.push_back({upper(*name), *size});
    }
  }

  const Loop* axis_of(const std::string& name) const {
    for (const Loop& l : op_.loops)
      if (l.axis == upper(name)) return &l;
    return nullptr;
  }

  // "ix=2*ox+1*fx".
  void read_relations() {
    const Value* relations = take("dimension_relations", "coordinates of op");
    if (relations == nullptr || relations->is_null()) return;
    const auto* list = base::as_list(relations, "dimension_relations", diags_);
    if (list == nullptr) return;
    for (const Value& r : *list) {
      const auto text = base::as_text(&r, "dimension_relations", diags_);
      if (!text) continue;
      const std::string plain = without_blanks(*text);
      const std::size_t equals = plain.find('=');
      if (equals == std::string::npos || !is_name(plain.substr(0, equals))) {
        fail(r.at, fmt::format("dimension_relations: expected ix=2*ox+1*fx, got '{}'", *text));
        continue;
      }
      if (const auto sum = sum_of(plain.substr(equals + 1), r.at)) relations_[upper(plain.substr(0, equals))] = *sum;
    }
  }

  std::optional<Coordinate> sum_of(std::string_view text, Position at) {
    Coordinate out;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('+', begin), text.size());
      std::string_view term = text.substr(begin, end - begin);
      Term t;
      const std::size_t star = term.find('*');
      if (star != std::string_view::npos) {
        const auto factor = base::parse_integer<std::int64_t>(term.substr(0, star));
        if (!factor || *factor < 1 || *factor > kMaxZigzagSize / 1000)
          return fail(at, fmt::format("dimension_relations: expected a factor from 1, got '{}'", term.substr(0, star)));
        t.factor = *factor;
        term = term.substr(star + 1);
      }
      t.axis = upper(std::string(term));
      if (axis_of(t.axis) == nullptr)
        return fail(at, fmt::format("dimension_relations: '{}' is none of loop_dims", term));
      out.terms.push_back(std::move(t));
      begin = end + 1;
    }
    return out;
  }

  // Of the dimensions that relations give: extents, and how many of them lie before and behind the tensor.
  void read_padding() {
    const Value* dims = take("pr_loop_dims", "shapes");
    const Value* sizes = take("pr_loop_sizes", "shapes");
    const Value* padding = take("padding", "coordinates of op");
    const auto* names = dims == nullptr ? nullptr : base::as_list(dims, "pr_loop_dims", diags_);
    if (names == nullptr) {
      if (padding != nullptr && !padding->is_null())
        fail(padding->at, "padding: pr_loop_dims does not say of which dimensions");
      return;
    }
    const auto* numbers = sizes == nullptr ? nullptr : base::as_list(sizes, "pr_loop_sizes", diags_);
    const auto* pads = padding == nullptr ? nullptr : base::as_list(padding, "padding", diags_);
    for (std::size_t i = 0; i < names->size(); ++i) {
      const auto name = base::as_text(&(*names)[i], "pr_loop_dims", diags_);
      if (!name) continue;
      if (numbers != nullptr && i < numbers->size())
        if (const auto n = base::as_integer(&(*numbers)[i], "pr_loop_sizes", {1, kMaxZigzagSize}, diags_))
          extents_[upper(*name)] = *n;
      const auto* pair = pads != nullptr && i < pads->size() ? base::as_list(&(*pads)[i], "padding", diags_) : nullptr;
      if (pair != nullptr && !pair->empty())
        if (const auto n = base::as_integer(&pair->front(), "padding", {0, kMaxZigzagSize}, diags_))
          relations_[upper(*name)].constant -= *n;
    }
  }

  // "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]"; the sum of two operands has '+' between them.
  void read_equation() {
    const Value* equation = require("equation", "op");
    const auto text = base::as_text(equation, "equation", diags_);
    if (!text) return;
    at_ = equation->at;
    rest_ = plain_ = without_blanks(*text);
    const auto result = tensor();
    if (!result) return;
    op_.result = *result;
    const bool sums = rest_.starts_with("+=");
    if (!sums && !rest_.starts_with("=")) return void(malformed("'+=' or '='"));
    rest_.remove_prefix(sums ? 2 : 1);
    char sign = '\0';
    for (;;) {
      auto operand = tensor();
      if (!operand) return;
      op_.operands.push_back(std::move(*operand));
      if (rest_.empty()) break;
      const char next = rest_.front();
      if ((next != '*' && next != '+') || (sign != '\0' && sign != next)) return void(malformed("'*' or '+'"));
      sign = next;
      rest_.remove_prefix(1);
    }
    op_.sums = sign != '+';
  }

  std::nullopt_t malformed(std::string_view expected) {
    return fail(at_, fmt::format("equation: expected {} before '{}' in '{}'", expected, rest_, plain_));
  }

  std::optional<Tensor> tensor() {
    const std::size_t bracket = std::min(rest_.find_first_of("[*+="), rest_.size());
    Tensor out{std::string(rest_.substr(0, bracket)), {}, {}};
    if (!is_name(out.name)) return malformed("a tensor such as W[k][c]");
    rest_.remove_prefix(bracket);
    bool has_extents = true;
    while (rest_.starts_with("[")) {
      const std::size_t end = rest_.find(']');
      if (end == std::string_view::npos) return malformed("a closed bracket");
      const std::string axis = upper(std::string(rest_.substr(1, end - 1)));
      const auto relation = relations_.find(axis);
      if (relation != relations_.end() && !relation->second.terms.empty()) {
        out.coordinates.push_back(relation->second);
        const auto extent = extents_.find(axis);
        has_extents = has_extents && extent != extents_.end();
        out.shape.push_back(extent == extents_.end() ? 0 : extent->second);
      } else if (const Loop* loop = axis_of(axis)) {
        out.coordinates.push_back({{{loop->axis, 1}}, 0});
        out.shape.push_back(loop->size);
      } else {
        return fail(at_, fmt::format("equation: '{}' is none of loop_dims, and dimension_relations does not give it",
                                     rest_.substr(1, end - 1)));
      }
      rest_.remove_prefix(end + 1);
    }
    const bool states_extents = std::any_of(out.coordinates.begin(), out.coordinates.end(),
                                            [](const Coordinate& c) { return c.terms.size() > 1; });
    if (!has_extents || !states_extents) out.shape.clear();
    return out;
  }

  // Operands of no bits are left out: a sum over a window has none but its input.
  void read_precision() {
    const Value* precision = layer_.find("operand_precision");
    if (precision == nullptr) return;
    if (!precision->is_map())
      return void(fail(precision->at, "operand_precision: expected a map, got " + precision->describe()));
    std::string by_tensor, first;
    bool same = true;
    for (const base::Entry& e : *precision->get_if<base::Map>()) {
      const std::string key = path_ + "operand_precision." + e.key;
      const bool is_final = e.key == op_.result.name + "_final";
      const auto operand =
          std::find_if(op_.operands.begin(), op_.operands.end(), [&](const Tensor& t) { return t.name == e.key; });
      if (e.key == op_.result.name && precision->find(op_.result.name + "_final") != nullptr) {
        ledger_.leave(key, "bits of a running sum; sums here have the type that the instruction gives them");
        continue;
      }
      if (!is_final && operand == op_.operands.end() && e.key != op_.result.name) continue;  // not understood
      const auto bits = base::as_integer(&e.value, "operand_precision", {0, 64}, diags_);
      if (!bits) continue;
      if (*bits == 0 && operand != op_.operands.end() && op_.operands.size() > 1) {
        ledger_.take(key, "the operand is left out: it has no bits");
        op_.operands.erase(operand);
        continue;
      }
      const auto row = std::find_if(std::begin(kPrecisions), std::end(kPrecisions),
                                    [&](const PrecisionRow& p) { return p.bits == *bits; });
      if (row == std::end(kPrecisions)) {
        fail(e.value.at,
             fmt::format("operand_precision.{}: no element type of {} bits; 8, 16 and 32 are known", e.key, *bits));
        continue;
      }
      ledger_.take(key, fmt::format("dtype: {}", row->dtype));
      if (first.empty()) first = row->dtype;
      same = same && first == row->dtype;
      by_tensor += fmt::format(",{}={}", is_final ? op_.result.name : e.key, row->dtype);
    }
    if (!first.empty()) op_.dtype = same ? first : first + by_tensor;
  }

  const Value& layer_;
  std::string path_;  // of its keys
  Ledger& ledger_;
  Diagnostics& diags_;
  std::map<std::string, Coordinate> relations_;
  std::map<std::string, std::int64_t> extents_;
  std::string plain_;
  std::string_view rest_;
  Position at_;
  SuiteOperator op_;
};

}  // namespace

std::optional<Imported> import_zigzag(const Source& source, Diagnostics& diags) {
  const auto document = base::read_yaml(source.text, source.id, diags);
  if (!document) return std::nullopt;
  const auto* layers = document->get_if<base::List>();
  if (layers == nullptr || layers->empty()) {
    diags.error(document->at, "expected a list of layers, got " + document->describe());
    return std::nullopt;
  }
  Ledger ledger(keys_of(*document));
  if (!check_number(ledger.keys(), source.id, diags)) return std::nullopt;
  SuiteFile file;
  file.head = {fmt::format("The workload {} of ZigZag, from tilescope import.", source.file)};
  file.dtype = "f16";
  file.dtype_comment = "[E] of layers without operand_precision";
  for (std::size_t i = 0; i < layers->size(); ++i)
    if (auto op = ZigzagLayer((*layers)[i], i, ledger, diags).read()) file.operators.push_back(std::move(*op));
  if (!diags.ok()) return std::nullopt;
  Imported out;
  out.kind = "suite";
  out.text = text_of(file);
  out.report =
      ledger.report({"id", "name", "operator_type", "equation", "dimension_relations", "loop_dims", "loop_sizes",
                     "operand_precision", "operand_source", "pr_loop_dims", "pr_loop_sizes", "padding"});
  if (!check(out.text, file, source.id, diags)) return std::nullopt;
  return out;
}

}  // namespace tilescope::importers
