// SPDX-License-Identifier: Apache-2.0
#include "expr/infer.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/integer.h"
#include "base/option.h"
#include "expr/detail/indices.h"
#include "expr/detail/print.h"
#include "expr/detail/ranges.h"
#include "expr/detail/rebuild.h"
#include "expr/detail/resolve.h"
#include "expr/extent.h"
#include "expr/stages.h"
#include "expr/tables.h"

namespace tilescope::expr {
namespace {

constexpr std::int64_t kMaxValue = std::numeric_limits<std::int64_t>::max();

// factor * the product of all, or nothing beyond 63 bits.
std::optional<std::int64_t> product(std::int64_t factor, const std::vector<std::int64_t>& sizes) {
  std::optional<std::int64_t> out = factor;
  for (const std::int64_t s : sizes) {
    if (!out) break;
    out = base::checked_mul(*out, s);
  }
  return out;
}

// Shapes of all tensors, once the axes have sizes.
class Shapes {
 public:
  Shapes(const Problem& problem, Draft& draft, base::Diagnostics& diags)
      : problem_(problem), draft_(draft), diags_(diags), touched_(draft.e.tensors.size()) {}

  bool find() {
    for (const Stage& s : draft_.e.stages) shape_of_output(s);
    for (const GivenShape& g : problem_.shapes) tensor_named(g.tensor).shape = g.shape;
    each_read([&](const Read& r, const std::vector<Span>& spans, base::Position at) { widen(r, spans, at); });
    if (!ok_) return false;
    each_read([&](const Read& r, const std::vector<Span>& spans, base::Position) { touch(r, spans); });
    report_wide_indices();
    report_untouched();
    report_too_large();
    return ok_;
  }

 private:
  Tensor& tensor(int index) { return draft_.e.tensors[static_cast<std::size_t>(index)]; }
  Tensor& tensor_named(const std::string& name) { return draft_.e.tensors[*find_tensor(draft_.e, name)]; }

  void shape_of_output(const Stage& s) {
    for (std::size_t a = 0; a < s.spatial_count(); ++a) tensor(s.output).shape.push_back(s.axes[a].size);
  }

  template <class Visit>
  void each_read(Visit visit) {
    for (std::size_t s = 0; s < draft_.e.stages.size(); ++s) {
      const Stage& stage = draft_.e.stages[s];
      for (std::size_t r = 0; r < stage.reads.size(); ++r)
        if (const auto spans = spans_of(stage, stage.reads[r], draft_.read_at[s][r]))
          visit(stage.reads[r], *spans, draft_.read_at[s][r]);
    }
  }

  // The span of each coordinate, or nothing after an error where one exceeds 64 bits.
  std::optional<std::vector<Span>> spans_of(const Stage& stage, const Read& read, base::Position at) {
    std::vector<Span> out;
    for (const Coordinate& c : read.at) {
      const auto span = span_of(c, sizes_of(stage));
      if (!span || span->high == kMaxValue) {
        error(at, fmt::format("a coordinate of {} does not fit 64 bits", to_text(draft_.e, stage, read)));
        return std::nullopt;
      }
      out.push_back(*span);
    }
    return out;
  }

  // An input without a given shape reaches to the highest coordinate read.
  void widen(const Read& r, const std::vector<Span>& spans, base::Position at) {
    Tensor& t = tensor(r.tensor);
    const bool fixed = t.producer != kInput || given(t.name) != nullptr;
    if (fixed) return;
    t.shape.resize(spans.size(), 1);
    for (std::size_t d = 0; d < spans.size(); ++d) t.shape[d] = std::max(t.shape[d], spans[d].high + 1);
    if (const auto d = r.gathered_dim())
      error(at, fmt::format("dimension {} of '{}' is indexed by a table, which does not say its extent; give {}",
                            *d + 1, t.name,
                            problem_.of_suite ? fmt::format("shapes: {{{}: [...]}}", t.name)
                                              : fmt::format("{} {}=...", base::option("shape"), t.name)));
  }

  void touch(const Read& r, const std::vector<Span>& spans) {
    const Tensor& t = tensor(r.tensor);
    bool inside = true;
    for (std::size_t d = 0; d < spans.size(); ++d) inside = inside && spans[d].high >= 0 && spans[d].low < t.shape[d];
    Touch& touched = touched_[static_cast<std::size_t>(r.tensor)];
    touched.read = true;
    touched.inside = touched.inside || inside;
  }

  void report_untouched() {
    for (std::size_t t = 0; t < touched_.size(); ++t) {
      if (!touched_[t].read || touched_[t].inside) continue;
      const Tensor& tensor = draft_.e.tensors[t];
      const GivenShape* g = given(tensor.name);
      error(g != nullptr ? g->at : draft_.tensor_at[t],
            fmt::format("every read of '{}' lies outside its shape {}", tensor.name, fmt::join(tensor.shape, ",")));
    }
  }

  // Chips compute an index in 32 bits.
  void report_wide_indices() {
    for (std::size_t s = 0; s < draft_.e.stages.size(); ++s) {
      const Stage& stage = draft_.e.stages[s];
      for (const Coordinate& c : stage.indices)
        if (const auto span = span_of(c, sizes_of(stage)); !span ||
                                                           span->low < std::numeric_limits<std::int32_t>::min() ||
                                                           span->high > std::numeric_limits<std::int32_t>::max())
          error(draft_.output_at[s],
                fmt::format("an index that is a value, {}, does not fit 32 bits", to_text(stage, c)));
    }
  }

  void report_too_large() {
    for (std::size_t t = 0; t < draft_.e.tensors.size(); ++t)
      if (const Tensor& tensor = draft_.e.tensors[t]; !product(8, tensor.shape))
        error(draft_.tensor_at[t], fmt::format("the size of '{}' with shape {} does not fit 64 bits", tensor.name,
                                               fmt::join(tensor.shape, ",")));
    for (std::size_t s = 0; s < draft_.e.stages.size(); ++s)
      if (const auto sizes = sizes_of(draft_.e.stages[s]); !product(2, sizes))
        error(draft_.output_at[s],
              fmt::format("the operations of a stage over {} iterations do not fit 64 bits", fmt::join(sizes, "*")));
  }

  const GivenShape* given(const std::string& name) const {
    for (const GivenShape& g : problem_.shapes)
      if (g.tensor == name) return &g;
    return nullptr;
  }

  void error(base::Position at, std::string text) {
    ok_ = false;
    diags_.error(at, std::move(text));
  }

  struct Touch {
    bool read = false;
    bool inside = false;
  };

  const Problem& problem_;
  Draft& draft_;
  base::Diagnostics& diags_;
  std::vector<Touch> touched_;  // by tensor
  bool ok_ = true;
};

}  // namespace

std::optional<Expression> infer(const Problem& problem, const std::vector<ParsedStage>& stages,
                                base::Diagnostics& diags) {
  std::optional<Draft> draft = resolve(problem, stages, diags);
  if (!draft || !find_ranges(problem, *draft, diags) || !Shapes(problem, *draft, diags).find()) return std::nullopt;
  Expression& e = draft->e;
  for (std::size_t s = 0; s < e.stages.size(); ++s) choose_outside(e, draft->outside[s], e.stages[s]);
  for (const Stage& s : e.stages)
    for (std::string& note : notes_of(e, s)) e.notes.push_back(std::move(note));
  return std::move(e);
}

std::optional<Expression> build(const Problem& problem, base::Diagnostics& diags) {
  const auto stages = parse(problem.text, problem.at, diags);
  if (!stages) return std::nullopt;
  return infer(problem, *stages, diags);
}

base::Dtype default_result(const Expression& e, const Stage& stage) {
  if (!base::is_integer(e.dtype)) return e.dtype;
  const bool wide = stage.reducer == Reducer::kSum ||  // which would leave the dtype of what is added
                    std::any_of(stage.body.begin(), stage.body.end(), [&](const Node& n) {
                      if (n.kind != NodeKind::kRead) return false;
                      const Read& r = stage.reads[static_cast<std::size_t>(n.index)];
                      return e.tensors[static_cast<std::size_t>(r.tensor)].dtype == e.accumulate;
                    });
  return wide ? e.accumulate : e.dtype;
}

std::vector<int> tensors_of_given_dtypes(const Expression& e) {
  const std::vector<int> tables = tables_of(e);
  std::vector<int> out;
  for (std::size_t t = 0; t < e.tensors.size(); ++t) {
    const Tensor& tensor = e.tensors[t];
    const bool table = std::find(tables.begin(), tables.end(), static_cast<int>(t)) != tables.end();
    const base::Dtype found = table ? kTableDtype
                              : tensor.producer == kInput
                                  ? e.dtype
                                  : default_result(e, e.stages[static_cast<std::size_t>(tensor.producer)]);
    if (tensor.dtype != found || tensor.indices != IndexDistribution{}) out.push_back(static_cast<int>(t));
  }
  return out;
}

std::string dtype_text(const Tensor& t) {
  const std::string dtype(base::name_of(t.dtype));
  return t.indices == IndexDistribution{} ? dtype : fmt::format("{}:{}", dtype, to_text(t.indices));
}

std::string dtypes_text(const Expression& e) {
  std::string out(base::name_of(e.dtype));
  for (const int t : tensors_of_given_dtypes(e)) {
    const Tensor& tensor = e.tensors[static_cast<std::size_t>(t)];
    out += fmt::format(",{}={}", tensor.name, dtype_text(tensor));
  }
  if (e.accumulate != base::default_accumulator(e.dtype))
    out += fmt::format(",accumulate={}", base::name_of(e.accumulate));
  return out;
}

std::string text_of(const Expression& e) {
  std::vector<std::string> parts;
  if (e.stages.size() > 1) {
    for (std::size_t s = 0; s < e.stages.size(); ++s) parts.push_back(text_of(single_stage(e, s)));
    return fmt::format("{}", fmt::join(parts, "; "));
  }
  parts.push_back(e.stages.front().text);
  for (const Axis& a : e.stages.front().axes) parts.push_back(fmt::format("{}={}", a.name, a.size));
  for (const Tensor& t : e.tensors) parts.push_back(fmt::format("{}[{}]", t.name, fmt::join(t.shape, ",")));
  parts.push_back(dtypes_text(e));
  return fmt::format("{}", fmt::join(parts, " "));
}

Expression single_stage(const Expression& whole, std::size_t stage) { return stages_of(whole, stage, stage); }

}  // namespace tilescope::expr
