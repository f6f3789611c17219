// SPDX-License-Identifier: Apache-2.0
// The part of a stage document that determines its space: the operator and the names of its tile axes.

#include <array>
#include <string>

#include <fmt/format.h>

#include "base/fields.h"
#include "base/json_writer.h"
#include "expr/infer.h"
#include "tile/stage_reader.h"

namespace tilescope::tile {
namespace {

using base::Diagnostics;
using base::Entry;
using base::List;
using base::Map;
using base::Value;

// The axes of the first tile, or of the only one, whose names say which loops are collapsed.
std::vector<std::string_view> tile_axis_names(const Value& stage) {
  std::vector<std::string_view> names;
  const Value *tiles = stage.find("tiles"), *tile = stage.find("tile");
  const Map* levels = tiles == nullptr ? nullptr : tiles->get_if<Map>();
  const Map* axes = levels == nullptr || levels->empty() ? nullptr : levels->front().value.get_if<Map>();
  if (tiles == nullptr && tile != nullptr) axes = tile->get_if<Map>();
  if (axes != nullptr)
    for (const Entry& e : *axes) names.push_back(e.key);
  return names;
}

// Everything of a stage document that determines its space, as text.
std::string key_of(const Value& stage) {
  std::string key;
  constexpr std::size_t kUsual = 256;
  key.reserve(kUsual);
  for (const std::string_view name : kSpaceKeys) {
    if (const Value* v = stage.find(name)) append_json(*v, key);
    key += '|';
  }
  for (const std::string_view name : tile_axis_names(stage)) key.append(name).push_back(',');
  return key;
}

std::optional<base::Dtype> read_dtype(const Value* v, std::string_view name, Diagnostics& diags) {
  const std::optional<std::size_t> index = base::as_choice(v, name, base::dtype_names(), diags);
  if (!index) return std::nullopt;
  return base::kDtypes[*index].dtype;
}

void read_sizes(const Value* v, expr::Problem& problem, Diagnostics& diags) {
  const Map* sizes = base::as_map(v, "sizes", diags);
  if (sizes == nullptr) return;
  for (const Entry& e : *sizes)
    if (const auto n = base::as_integer(&e.value, "sizes." + e.key, {1}, diags))
      problem.sizes.push_back({e.key, *n, e.value.at});
}

void read_shapes(const Value* v, expr::Problem& problem, Diagnostics& diags) {
  const Map* shapes = base::as_map(v, "shapes", diags);
  if (shapes == nullptr) return;
  for (const Entry& e : *shapes) {
    const std::string name = "shapes." + e.key;
    const List* dims = base::as_list(&e.value, name, diags);
    if (dims == nullptr) continue;
    expr::GivenShape shape{e.key, {}, e.value.at};
    for (const Value& d : *dims)
      if (const auto n = base::as_integer(&d, name, {1}, diags)) shape.shape.push_back(*n);
    problem.shapes.push_back(std::move(shape));
  }
}

void read_dtypes(const Value* v, expr::Problem& problem, Diagnostics& diags) {
  const Map* dtypes = base::as_map(v, "dtypes", diags);
  if (dtypes == nullptr) return;
  for (const Entry& e : *dtypes) {
    Value dtype = e.value;
    std::optional<expr::IndexDistribution> indices;
    const std::string name = "dtypes." + e.key;
    if (const auto* text = e.value.get_if<std::string>(); text != nullptr && text->find(':') != std::string::npos) {
      const std::string word = text->substr(text->find(':') + 1);
      indices = expr::index_distribution_of(word);
      if (!indices)
        diags.error(e.value.at, fmt::format("{}: expected the distribution of the indices, {}, got '{}'", name,
                                            expr::kIndexDistributions, word));
      dtype = Value(text->substr(0, text->find(':')));
      dtype.at = e.value.at;
    }
    if (const auto known = read_dtype(&dtype, name, diags))
      problem.dtypes.tensors.push_back({e.key, *known, e.value.at, indices});
  }
}

std::optional<expr::Expression> read_expression(const Value& stage, Diagnostics& diags) {
  expr::Problem problem;
  const Value* text = stage.find("expr");
  if (text == nullptr) {
    diags.error(stage.at, "a node lacks the key 'expr'");
    return std::nullopt;
  }
  const std::size_t before = diags.errors().size();
  problem.text = base::as_text(text, "expr", diags).value_or("");
  problem.at = text->at;
  if (problem.at.column > 0) ++problem.at.column;  // the text begins after the quote
  read_sizes(stage.find("sizes"), problem, diags);
  read_shapes(stage.find("shapes"), problem, diags);
  problem.dtypes.arithmetic = read_dtype(stage.find("dtype"), "dtype", diags).value_or(base::Dtype::kF32);
  read_dtypes(stage.find("dtypes"), problem, diags);
  problem.dtypes.accumulate = read_dtype(stage.find("accumulate"), "accumulate", diags);
  if (diags.errors().size() != before) return std::nullopt;
  std::optional<expr::Expression> e = expr::build(problem, diags);
  if (e && e->stages.size() != 1) {
    diags.error(text->at, "expr: expected one stage; a program of several lists one per entry of 'nodes'");
    return std::nullopt;
  }
  return e;
}

}  // namespace

std::shared_ptr<const TileSpace> SpaceCache::space_of(const Value& stage, Diagnostics& diags) {
  std::string key = key_of(stage);
  if (const auto found = spaces_.find(key); found != spaces_.end()) return found->second;
  const std::optional<expr::Expression> e = read_expression(stage, diags);
  if (!e) return nullptr;
  const expr::Stage& loops = e->stages.front();
  // Wrong names fall back to plain loops: the reader then reports each of them with its place.
  const AxisCollapse collapse = collapse_of_names(loops, tile_axis_names(stage)).value_or(no_collapse(loops));
  auto space = make_space(*e, collapse);
  spaces_.emplace(std::move(key), space);
  return space;
}

}  // namespace tilescope::tile
