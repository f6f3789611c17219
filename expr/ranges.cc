// SPDX-License-Identifier: Apache-2.0
#include "expr/detail/ranges.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "base/option.h"
#include "expr/extent.h"

namespace tilescope::expr {
namespace {

using Size = std::optional<std::int64_t>;

// Where an axis got its size.
enum class Source { kOpen, kGiven, kRead, kConsumers };

struct Range {
  Size size;
  Source source = Source::kOpen;
};

class Ranges {
 public:
  Ranges(const Problem& problem, Draft& draft, base::Diagnostics& diags)
      : problem_(problem), draft_(draft), diags_(diags), given_(draft.e.tensors.size()) {
    for (const Stage& s : draft.e.stages) ranges_.emplace_back(s.axes.size());
    for (const GivenShape& g : problem.shapes) given_[*find_tensor(draft.e, g.tensor)] = &g;
  }

  bool find() {
    take_given_sizes();
    take_given_outputs();
    while (take_bare_reads() || take_consumers()) {
    }
    report_open();
    if (ok_) report_ambiguous();
    if (ok_) store();
    return ok_;
  }

 private:
  const std::vector<Stage>& stages() const { return draft_.e.stages; }

  void take_given_sizes() {
    for (const GivenSize& g : problem_.sizes)
      for (std::size_t s = 0; s < stages().size(); ++s)
        if (const auto axis = find_axis(stages()[s], g.axis)) ranges_[s][*axis] = {g.size, Source::kGiven};
  }

  // The shape given for an output is the size of the axes that index it.
  void take_given_outputs() {
    for (std::size_t s = 0; s < stages().size(); ++s) {
      const GivenShape* g = given_[static_cast<std::size_t>(stages()[s].output)];
      if (g == nullptr) continue;
      for (std::size_t a = 0; a < g->shape.size(); ++a) {
        Range& range = ranges_[s][a];
        if (range.size.value_or(g->shape[a]) != g->shape[a])
          error(g->at, fmt::format("'{}' is given with {} along axis '{}', whose size is given as {}", g->tensor,
                                   g->shape[a], stages()[s].axes[a].name, *range.size));
        range = {g->shape[a], Source::kGiven};
      }
    }
  }

  // Extent of one dimension, where it is given or an earlier stage's axis has a size by now.
  Size extent_of(int tensor, std::size_t dimension) const {
    const auto t = static_cast<std::size_t>(tensor);
    const int producer = draft_.e.tensors[t].producer;
    if (producer != kInput) return ranges_[static_cast<std::size_t>(producer)][dimension].size;
    if (given_[t] != nullptr) return given_[t]->shape[dimension];
    return std::nullopt;
  }

  // Calls visit(stage, axis, tensor, dimension) for each bare axis among the coordinates of all reads.
  template <class Visit>
  void each_bare_read(Visit visit) const {
    for (std::size_t s = 0; s < stages().size(); ++s)
      for (const Read& r : stages()[s].reads)
        for (std::size_t d = 0; d < r.at.size(); ++d)
          if (const auto axis = r.at[d].bare_axis()) visit(s, static_cast<std::size_t>(*axis), r.tensor, d);
  }

  bool take_bare_reads() {
    bool changed = false;
    each_bare_read([&](std::size_t s, std::size_t axis, int tensor, std::size_t d) {
      Range& range = ranges_[s][axis];
      const Size extent = extent_of(tensor, d);
      if (range.size || !extent) return;
      range = {extent, Source::kRead};
      changed = true;
    });
    return changed;
  }

  // Gives one axis of an intermediate output the extent that later stages read of it.
  bool take_consumers() {
    for (std::size_t s = 0; s < stages().size(); ++s)
      for (std::size_t a = 0; a < stages()[s].spatial_count(); ++a) {
        if (ranges_[s][a].size) continue;
        const Size extent = extent_read(stages()[s].output, a);
        if (!extent) continue;
        ranges_[s][a] = {extent, Source::kConsumers};
        return true;
      }
    return false;
  }

  // The highest coordinate that any read of the tensor has there, plus one; nothing while a range is open.
  Size extent_read(int tensor, std::size_t dimension) const {
    Size extent;
    for (std::size_t s = 0; s < stages().size(); ++s)
      for (const Read& r : stages()[s].reads) {
        if (r.tensor != tensor) continue;
        const Size high = highest(s, r.at[dimension]);
        if (!high) return std::nullopt;
        extent = std::max({extent.value_or(1), *high + 1, std::int64_t{1}});
      }
    return extent;
  }

  Size highest(std::size_t stage, const Coordinate& c) const {
    std::vector<std::int64_t> sizes;
    for (const Range& r : ranges_[stage]) sizes.push_back(r.size.value_or(1));
    for (const Term& t : c.terms)
      if (!ranges_[stage][static_cast<std::size_t>(t.axis)].size) return std::nullopt;
    const auto span = span_of(c, sizes);
    if (!span || span->high == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    return span->high;
  }

  // How a size is given where the expression stands.
  std::string size_hint(const std::string& axis) const {
    if (problem_.of_network) return fmt::format("for {}=... behind the stages", axis);
    return problem_.of_suite ? fmt::format("sizes: {{{}: ...}}", axis)
                             : fmt::format("{} {}=...", base::option("size"), axis);
  }

  void report_open() {
    std::set<std::string_view> seen;
    for (std::size_t s = 0; s < stages().size(); ++s)
      for (std::size_t a = 0; a < ranges_[s].size(); ++a) {
        const std::string& name = stages()[s].axes[a].name;
        if (!ranges_[s][a].size && seen.insert(name).second)
          error(draft_.axis_at[s][a], fmt::format("axis '{}' has no size; give {}", name, size_hint(name)));
      }
  }

  // An axis that took its size from one read, while another read of it bare has another extent.
  void report_ambiguous() {
    each_bare_read([&](std::size_t s, std::size_t axis, int tensor, std::size_t d) {
      const Range& range = ranges_[s][axis];
      const Size extent = extent_of(tensor, d);
      if (range.source != Source::kRead || !extent || *extent == *range.size) return;
      const std::string& name = stages()[s].axes[axis].name;
      error(draft_.axis_at[s][axis],
            fmt::format("axis '{}' would be {} by one read, but {} by dimension {} of '{}'; give {}", name, *range.size,
                        *extent, d + 1, draft_.e.tensors[static_cast<std::size_t>(tensor)].name, size_hint(name)));
    });
  }

  void store() {
    for (std::size_t s = 0; s < stages().size(); ++s)
      for (std::size_t a = 0; a < ranges_[s].size(); ++a) draft_.e.stages[s].axes[a].size = *ranges_[s][a].size;
  }

  void error(base::Position at, std::string text) {
    ok_ = false;
    diags_.error(at, std::move(text));
  }

  const Problem& problem_;
  Draft& draft_;
  base::Diagnostics& diags_;
  std::vector<const GivenShape*> given_;    // by tensor
  std::vector<std::vector<Range>> ranges_;  // by stage and axis
  bool ok_ = true;
};

}  // namespace

bool find_ranges(const Problem& problem, Draft& draft, base::Diagnostics& diags) {
  return Ranges(problem, draft, diags).find();
}

}  // namespace tilescope::expr
