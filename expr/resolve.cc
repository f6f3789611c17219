// SPDX-License-Identifier: Apache-2.0
#include "expr/detail/resolve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "expr/detail/indices.h"

namespace tilescope::expr {
namespace {

template <class T, class Name>
std::optional<std::size_t> index_of(const std::vector<T>& items, std::string_view name, Name name_of_item) {
  for (std::size_t i = 0; i < items.size(); ++i)
    if (name_of_item(items[i]) == name) return i;
  return std::nullopt;
}

std::string coordinates(std::size_t n) { return fmt::format("{} coordinate{}", n, n == 1 ? "" : "s"); }

class Resolver {
 public:
  Resolver(const Problem& problem, base::Diagnostics& diags) : problem_(problem), diags_(diags) {}

  std::optional<Draft> run(const std::vector<ParsedStage>& stages) {
    parsed_ = stages.data();
    for (const ParsedStage& s : stages) find_tables(s);
    take_arithmetic(stages);
    for (const ParsedStage& s : stages) add_stage(s);
    for (const ParsedStage& s : stages) check_scalars(s);
    for (const GivenSize& g : problem_.sizes) check_size(g);
    for (const GivenShape& g : problem_.shapes) check_shape(g);
    for (const GivenDtype& g : problem_.dtypes.tensors) check_dtype(g);
    check_tables();
    if (errors_ > 0) return std::nullopt;
    return std::move(draft_);
  }

 private:
  void find_tables(const ParsedStage& stage) {
    for (const NamedRead& r : stage.reads)
      for (const NamedCoordinate& c : r.coordinates)
        if (c.table >= 0) tables_.insert(stage.reads[static_cast<std::size_t>(c.table)].tensor);
  }

  void take_arithmetic(const std::vector<ParsedStage>& stages) {
    Expression& e = draft_.e;
    e.dtype = problem_.dtypes.arithmetic.value_or(widest_input(stages).value_or(base::Dtype::kF32));
    e.accumulate = problem_.dtypes.accumulate.value_or(base::default_accumulator(e.dtype));
    if (base::is_integer(e.dtype) != base::is_integer(e.accumulate))
      error(problem_.at,
            fmt::format("{} cannot be accumulated in {}", base::name_of(e.dtype), base::name_of(e.accumulate)));
    else if (e.dtype == base::Dtype::kF64 && e.accumulate != base::Dtype::kF64)
      error(problem_.at, fmt::format("f64 is accumulated in f64, not in {}", base::name_of(e.accumulate)));
  }

  // The widest given dtype of an input that is no table; nullopt where none is given.
  std::optional<base::Dtype> widest_input(const std::vector<ParsedStage>& stages) const {
    const auto width = [](base::Dtype d) { return std::pair(!base::is_integer(d), base::size_of(d).n); };
    std::optional<base::Dtype> widest;
    for (const GivenDtype& g : problem_.dtypes.tensors) {
      const bool written =
          std::any_of(stages.begin(), stages.end(), [&](const ParsedStage& s) { return s.output == g.tensor; });
      if (!written && !tables_.contains(g.tensor) && (!widest || width(g.dtype) > width(*widest))) widest = g.dtype;
    }
    return widest;
  }

  void add_stage(const ParsedStage& parsed) {
    Stage stage;
    stage.text = parsed.text;
    stage.reducer = parsed.reducer;
    stage.body = parsed.body;
    draft_.axis_at.emplace_back();
    draft_.read_at.emplace_back();
    draft_.outside.emplace_back();
    draft_.output_at.push_back(parsed.output_at);
    for (const NamedScalar& a : parsed.output_axes) add_axis(stage, a.name, a.at, false);
    for (const NamedRead& r : parsed.reads) add_read(stage, r, parsed.output);
    add_output(stage, parsed);
    name_values(stage, parsed);
    take_indices_together(stage);
    check_numbers(parsed);
    draft_.e.stages.push_back(std::move(stage));
  }

  // All but f64 is computed in f32 at most.
  void check_numbers(const ParsedStage& parsed) {
    if (draft_.e.dtype == base::Dtype::kF64) return;
    std::size_t number = 0;
    for (const Node& n : parsed.body) {
      if (n.kind != NodeKind::kNumber) continue;
      const base::Position at = parsed.number_at[number++];
      if (std::isfinite(n.number) && std::abs(n.number) > std::numeric_limits<float>::max())
        error(at, fmt::format("the number {} is beyond f32, in which {} is computed", n.number,
                              base::name_of(draft_.e.dtype)));
    }
  }

  int add_axis(Stage& stage, const std::string& name, base::Position at, bool reduction) {
    if (const auto known = find_axis(stage, name)) return static_cast<int>(*known);
    const auto words = function_spellings();
    if (name == kInfinity || std::find(words.begin(), words.end(), name) != words.end())
      error(at, fmt::format("'{}' is a value or a function; an axis cannot have its name", name));
    stage.axes.push_back({name, 0, reduction});
    draft_.axis_at.back().push_back(at);
    return static_cast<int>(stage.axes.size()) - 1;
  }

  void add_read(Stage& stage, const NamedRead& parsed, const std::string& output) {
    if (parsed.tensor == output) return error(parsed.at, fmt::format("the stage reads its own output '{}'", output));
    Read read;
    read.tensor = add_tensor(parsed.tensor, parsed.coordinates.size(), parsed.at);
    for (const NamedCoordinate& n : parsed.coordinates) {
      Coordinate c{{}, n.offset, n.divisor, n.modulus, n.table};
      for (const NamedTerm& t : n.terms) c.terms.push_back({add_axis(stage, t.axis, t.at, true), t.coefficient});
      read.at.push_back(c);
    }
    if (const auto d = read.gathered_dim()) {
      const std::size_t of_table = stage.reads[static_cast<std::size_t>(read.at[*d].table)].at.size();
      if (const std::size_t all = read.at.size() + of_table; all > kMaxRank)
        error(parsed.at, fmt::format("'{}' has {} coordinates with those of its table, at most {} are possible",
                                     parsed.tensor, all, kMaxRank));
    }
    stage.reads.push_back(std::move(read));
    draft_.read_at.back().push_back(parsed.at);
    draft_.outside.back().push_back(parsed.outside);
  }

  void add_output(Stage& stage, const ParsedStage& parsed) {
    const auto known = find_tensor(draft_.e, parsed.output);
    if (known && draft_.e.tensors[*known].producer != kInput)
      error(parsed.output_at, fmt::format("the tensor '{}' is written twice", parsed.output));
    else if (known)
      error(draft_.tensor_at[*known], fmt::format("the tensor '{}' is read before it is written", parsed.output));
    stage.output = add_tensor(parsed.output, parsed.output_axes.size(), parsed.output_at);
    Tensor& t = draft_.e.tensors[static_cast<std::size_t>(stage.output)];
    t.producer = static_cast<int>(draft_.e.stages.size());
    t.dtype = given_dtype(parsed.output)
                  .value_or(tables_.contains(parsed.output) ? kTableDtype : default_result(draft_.e, stage));
  }

  int add_tensor(const std::string& name, std::size_t rank, base::Position at) {
    if (const auto known = find_tensor(draft_.e, name)) {
      if (draft_.rank[*known] != rank)
        error(at, fmt::format("'{}' has {} here, but {} where it is first used", name, coordinates(rank),
                              draft_.rank[*known]));
      return static_cast<int>(*known);
    }
    const base::Dtype found = tables_.contains(name) ? kTableDtype : draft_.e.dtype;
    draft_.e.tensors.push_back({name, {}, given_dtype(name).value_or(found), kInput, given_indices(name)});
    draft_.rank.push_back(rank);
    draft_.tensor_at.push_back(at);
    return static_cast<int>(draft_.e.tensors.size()) - 1;
  }

  // The axis of the stage of that name. One whose size is given need not index a tensor.
  std::optional<std::size_t> axis_named(Stage& stage, const NamedScalar& name) {
    if (const auto known = find_axis(stage, name.name)) return known;
    const bool sized = std::any_of(problem_.sizes.begin(), problem_.sizes.end(),
                                   [&](const GivenSize& g) { return g.axis == name.name; });
    if (!sized) return std::nullopt;
    if (stage.reducer == Reducer::kNone)
      error(name.at, fmt::format("axis '{}' is not an index of the output; sum over it with '+=!'", name.name));
    if (stage.axes.size() == kMaxAxes) error(name.at, fmt::format("a stage has at most {} axes", kMaxAxes));
    return static_cast<std::size_t>(add_axis(stage, name.name, name.at, true));
  }

  // A name without coordinates is an axis of the stage, or a scalar, which gets one number for the whole expression.
  void name_values(Stage& stage, const ParsedStage& parsed) {
    for (Node& node : stage.body) {
      if (node.kind != NodeKind::kScalar) continue;
      const std::string& name = parsed.scalars[static_cast<std::size_t>(node.index)].name;
      if (const auto axis = axis_named(stage, parsed.scalars[static_cast<std::size_t>(node.index)])) {
        node.kind = NodeKind::kIndex;
        node.index = static_cast<int>(stage.indices.size());
        stage.indices.push_back({.terms = {{static_cast<int>(*axis), 1}}});
        continue;
      }
      auto& all = draft_.e.scalars;
      const auto known = std::find(all.begin(), all.end(), name);
      node.index = static_cast<int>(known - all.begin());
      if (known == all.end()) all.push_back(name);
    }
  }

  void check_scalars(const ParsedStage& parsed) {
    const auto& stages = draft_.e.stages;
    for (const NamedScalar& s : parsed.scalars) {
      const Stage& own = stages[static_cast<std::size_t>(&parsed - parsed_)];
      if (find_axis(own, s.name)) continue;
      const bool axis = std::any_of(stages.begin(), stages.end(), [&](const Stage& o) { return find_axis(o, s.name); });
      if (axis)
        error(s.at, fmt::format("'{}' is an axis of another stage; this one has no such axis", s.name));
      else if (find_tensor(draft_.e, s.name))
        error(s.at, fmt::format("the tensor '{}' needs its coordinates, as in {}[...]", s.name, s.name));
    }
  }

  void check_size(const GivenSize& g) {
    std::vector<std::string_view> axes;
    for (const Stage& s : draft_.e.stages)
      for (const Axis& a : s.axes) axes.push_back(a.name);
    if (!sized_.insert(g.axis).second) error(g.at, fmt::format("the size of '{}' is given twice", g.axis));
    if (std::find(axes.begin(), axes.end(), g.axis) == axes.end())
      error(g.at, fmt::format("no stage has an axis '{}'{}", g.axis, base::did_you_mean(g.axis, axes)));
    if (g.size < 1) error(g.at, fmt::format("the size of '{}' must be at least 1, got {}", g.axis, g.size));
  }

  void check_shape(const GivenShape& g) {
    if (!shaped_.insert(g.tensor).second) error(g.at, fmt::format("the shape of '{}' is given twice", g.tensor));
    if (const auto bad = std::find_if(g.shape.begin(), g.shape.end(), [](auto d) { return d < 1; });
        bad != g.shape.end())
      error(g.at, fmt::format("the extents of '{}' must be at least 1, got {}", g.tensor, *bad));
    const auto tensor = find_tensor(draft_.e, g.tensor);
    if (!tensor) return error_of_tensor(g.at, g.tensor);
    if (draft_.rank[*tensor] != g.shape.size())
      error(g.at, fmt::format("'{}' has {}, but its shape is given with {}", g.tensor,
                              coordinates(draft_.rank[*tensor]), g.shape.size()));
  }

  std::optional<base::Dtype> given_dtype(std::string_view tensor) const {
    for (const GivenDtype& g : problem_.dtypes.tensors)
      if (g.tensor == tensor) return g.dtype;
    return std::nullopt;
  }

  IndexDistribution given_indices(std::string_view tensor) const {
    for (const GivenDtype& g : problem_.dtypes.tensors)
      if (g.tensor == tensor && g.indices) return *g.indices;
    return {};
  }

  void check_tables() {
    for (std::size_t t = 0; t < draft_.e.tensors.size(); ++t) {
      const Tensor& tensor = draft_.e.tensors[t];
      if (tables_.contains(tensor.name) && !base::is_integer(tensor.dtype))
        error(draft_.tensor_at[t], fmt::format("'{}' gives coordinates of another tensor: expected integers, got {}",
                                               tensor.name, base::name_of(tensor.dtype)));
    }
    for (const GivenDtype& g : problem_.dtypes.tensors)
      if (g.indices && !tables_.contains(g.tensor) && find_tensor(draft_.e, g.tensor))
        error(g.at,
              fmt::format("'{}' gives no coordinates of another tensor, so its values have no distribution", g.tensor));
  }

  // Whether there is such a tensor, and whether the arithmetic holds its values.
  void check_dtype(const GivenDtype& g) {
    const auto known = find_tensor(draft_.e, g.tensor);
    if (!known) return error_of_tensor(g.at, g.tensor);
    if (tables_.contains(g.tensor)) return;  // no arithmetic has its values
    const base::Dtype in = draft_.e.dtype;
    if (base::is_integer(in) && !base::is_integer(g.dtype))
      return error(g.at, fmt::format("'{0}' is of {1}, but the arithmetic is of {2}: expected a float before it, as in "
                                     "{1},{0}={1}",
                                     g.tensor, base::name_of(g.dtype), base::name_of(in)));
    if (g.dtype == base::Dtype::kF64 && in != base::Dtype::kF64)
      error(g.at,
            fmt::format("'{0}' is of f64, but the arithmetic is of {1}: expected f64 before it, as in f64,{0}=f64",
                        g.tensor, base::name_of(in)));
  }

  void error_of_tensor(base::Position at, std::string_view tensor) {
    std::vector<std::string_view> names;
    for (const Tensor& t : draft_.e.tensors) names.push_back(t.name);
    error(at, fmt::format("no stage has a tensor '{}'{}", tensor, base::did_you_mean(tensor, names)));
  }

  void error(base::Position at, std::string text) {
    ++errors_;
    diags_.error(at, std::move(text));
  }

  const Problem& problem_;
  base::Diagnostics& diags_;
  const ParsedStage* parsed_ = nullptr;  // the first one
  Draft draft_;
  std::set<std::string_view> sized_, shaped_;
  std::set<std::string, std::less<>> tables_;  // tensors
  int errors_ = 0;
};

}  // namespace

std::optional<std::size_t> find_tensor(const Expression& e, std::string_view name) {
  return index_of(e.tensors, name, [](const Tensor& t) -> std::string_view { return t.name; });
}

std::optional<std::size_t> find_axis(const Stage& stage, std::string_view name) {
  return index_of(stage.axes, name, [](const Axis& a) -> std::string_view { return a.name; });
}

std::optional<Draft> resolve(const Problem& problem, const std::vector<ParsedStage>& stages, base::Diagnostics& diags) {
  return Resolver(problem, diags).run(stages);
}

}  // namespace tilescope::expr
