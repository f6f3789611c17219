// SPDX-License-Identifier: Apache-2.0
#include "expr/infer.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/integer.h"
#include "expr/detail/print.h"
#include "expr/detail/ranges.h"
#include "expr/detail/resolve.h"
#include "expr/extent.h"

namespace tilescope::expr {
namespace {

constexpr std::int64_t kMaxValue = std::numeric_limits<std::int64_t>::max();

std::vector<std::int64_t> sizes_of(const Stage& stage) {
  std::vector<std::int64_t> out;
  for (const Axis& a : stage.axes) out.push_back(a.size);
  return out;
}

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
    each_read([&](const Read& r, const std::vector<Span>& spans, base::Position) { widen(r, spans); });
    if (!ok_) return false;
    each_read([&](const Read& r, const std::vector<Span>& spans, base::Position) { touch(r, spans); });
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
  void widen(const Read& r, const std::vector<Span>& spans) {
    Tensor& t = tensor(r.tensor);
    const bool fixed = t.producer != kInput || given(t.name) != nullptr;
    if (fixed) return;
    t.shape.resize(spans.size(), 1);
    for (std::size_t d = 0; d < spans.size(); ++d) t.shape[d] = std::max(t.shape[d], spans[d].high + 1);
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

// Index of `old` in the list that `kept` collects, appended at its first use.
int renumber(std::vector<int>& kept, int old) {
  const auto known = std::find(kept.begin(), kept.end(), old);
  const auto index = static_cast<int>(known - kept.begin());
  if (known == kept.end()) kept.push_back(old);
  return index;
}

}  // namespace

std::optional<Expression> infer(const Problem& problem, const std::vector<ParsedStage>& stages,
                                base::Diagnostics& diags) {
  std::optional<Draft> draft = resolve(problem, stages, diags);
  if (!draft || !find_ranges(problem, *draft, diags) || !Shapes(problem, *draft, diags).find()) return std::nullopt;
  Expression& e = draft->e;
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
                    std::any_of(stage.reads.begin(), stage.reads.end(), [&](const Read& r) {
                      return e.tensors[static_cast<std::size_t>(r.tensor)].dtype == e.accumulate;
                    });
  return wide ? e.accumulate : e.dtype;
}

std::vector<int> tensors_of_given_dtypes(const Expression& e) {
  std::vector<int> out;
  for (std::size_t t = 0; t < e.tensors.size(); ++t) {
    const Tensor& tensor = e.tensors[t];
    const base::Dtype found =
        tensor.producer == kInput ? e.dtype : default_result(e, e.stages[static_cast<std::size_t>(tensor.producer)]);
    if (tensor.dtype != found) out.push_back(static_cast<int>(t));
  }
  return out;
}

std::string dtypes_text(const Expression& e) {
  std::string out(base::name_of(e.dtype));
  for (const int t : tensors_of_given_dtypes(e)) {
    const Tensor& tensor = e.tensors[static_cast<std::size_t>(t)];
    out += fmt::format(",{}={}", tensor.name, base::name_of(tensor.dtype));
  }
  if (e.accumulate != base::default_accumulator(e.dtype))
    out += fmt::format(",accumulate={}", base::name_of(e.accumulate));
  return out;
}

Expression single_stage(const Expression& whole, std::size_t stage) {
  Expression e;
  e.stages = {whole.stages[stage]};
  e.dtype = whole.dtype;
  e.accumulate = whole.accumulate;
  Stage& s = e.stages[0];
  std::vector<int> tensors;
  std::vector<int> scalars;
  for (Read& r : s.reads) r.tensor = renumber(tensors, r.tensor);
  s.output = renumber(tensors, s.output);
  for (Node& n : s.body)
    if (n.kind == NodeKind::kScalar) n.index = renumber(scalars, n.index);
  for (const int t : tensors) {
    e.tensors.push_back(whole.tensors[static_cast<std::size_t>(t)]);
    e.tensors.back().producer = kInput;
  }
  e.tensors[static_cast<std::size_t>(s.output)].producer = 0;
  for (const int index : scalars) e.scalars.push_back(whole.scalars[static_cast<std::size_t>(index)]);
  e.notes = notes_of(e, s);
  return e;
}

}  // namespace tilescope::expr
