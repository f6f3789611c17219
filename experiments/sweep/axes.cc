// SPDX-License-Identifier: Apache-2.0
// The axes of a sweep's file: lists, ranges, tied paths and followers.

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "arch/key.h"
#include "arch/override.h"
#include "base/fields.h"
#include "base/parse_number.h"
#include "base/plain_text.h"
#include "base/quantity.h"
#include "experiments/sweep/detail/spec.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using base::Value;

constexpr std::size_t kMaxValues = 100'000;  // of one range
// No scratchpad holds a longer tile, and construction need not be safe against products of any numbers.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 20;

// A value in the base unit of its dimension.
std::optional<double> amount_of(const Value* v, const std::string& name, const arch::Number& n, Diagnostics& diags) {
  if (!n.dimension) {
    const auto count = base::as_integer(v, name, arch::kCounts, diags);
    return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
  }
  return base::as_quantity(v, name, *n.dimension, diags);
}

std::vector<std::string> split_paths(std::string_view key) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t comma = std::min(key.find(','), key.size());
    std::string_view path = key.substr(0, comma);
    while (path.starts_with(' ')) path.remove_prefix(1);
    while (path.ends_with(' ')) path.remove_suffix(1);
    out.emplace_back(path);
    if (comma == key.size()) return out;
    key.remove_prefix(comma + 1);
  }
}

// What is wrong with the text of a block tile, if anything is.
std::optional<std::string> complaint_of_block(std::string_view text) {
  for (std::size_t dims = 0;; ++dims) {
    const std::size_t x = std::min(text.find('x'), text.size());
    const std::string_view digits = text.substr(0, x);
    const bool number = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (!number || dims == expr::kMaxRank) return "expected the extents of a block tile such as 128x64, or best";
    const auto extent = base::parse_integer<std::int64_t>(digits);  // none where 64 bits do not hold it
    if (!extent || *extent < 1 || *extent > kMaxExtent)
      return fmt::format("an extent of a block is from 1 to {}", kMaxExtent);
    if (x == text.size()) return std::nullopt;
    text.remove_prefix(x + 1);
  }
}

class AxesReader {
 public:
  AxesReader(const std::vector<SweepBase>& bases, const SweepFile& file)
      : bases_(bases), file_(file), diags_(file.diags) {}

  std::vector<SweepAxis> read(const Value& axes) {
    base::Fields(axes, "axes", diags_);  // reports keys that stand twice
    const base::Map* entries = axes.get_if<base::Map>();
    if (entries == nullptr) return {};
    for (const base::Entry& e : *entries) read_axis(e);
    check_followers();
    return std::move(axes_);
  }

 private:
  void read_axis(const base::Entry& e) {
    SweepAxis axis{e.at, split_paths(e.key), {}, {}};
    for (const std::string& path : axis.paths) {
      if (!check_path(path, e.at)) return;
      if (std::find(taken_.begin(), taken_.end(), path) != taken_.end())
        return diags_.error(e.at, fmt::format("{} has an axis already", path));
      taken_.push_back(path);
    }
    if (const base::List* values = e.value.get_if<base::List>()) {
      for (const Value& v : *values) add_tuple(axis, v);
      if (values->empty())
        diags_.error(e.value.at, fmt::format("{}: an axis without values; list one at least", e.key));
    } else if (!e.value.is_map()) {
      return diags_.error(e.value.at, fmt::format("{}: expected a list of values, a range such as {{from: 16, to: 64, "
                                                  "times: 2}} or {{equals: EXPRESSION}}, got {}",
                                                  e.key, e.value.describe()));
    } else if (axis.paths.size() > 1) {
      return diags_.error(
          e.value.at, fmt::format("{}: tied paths need a list with a value each, such as [[32, 32], [64, 64]]", e.key));
    } else if (e.value.find("equals") != nullptr) {
      read_follower(axis, e.value);
    } else {
      read_range(axis, e.value);
    }
    axes_.push_back(std::move(axis));
  }

  // A path of every base, or program.*.
  bool check_path(const std::string& path, base::Position at) {
    if (path == kPaddingAxis || path == kBlockAxis) return true;
    if (path.starts_with("program.") || path == "program") {
      diags_.error(
          at, fmt::format("programs have no axis '{}'{}", path, base::did_you_mean(path, {kPaddingAxis, kBlockAxis})));
      return false;
    }
    for (const SweepBase& b : bases_) {
      if (b.number(path) != nullptr) continue;
      Diagnostics own;
      if (arch::document_of({path, "1"}, b.source.document(), own)) continue;
      diags_.error(at, fmt::format("{}: {}", b.name, own.errors().front().text));
      return false;
    }
    return true;
  }

  void add_tuple(SweepAxis& axis, const Value& v) {
    const base::List* items = v.get_if<base::List>();
    if (axis.paths.size() > 1 && (items == nullptr || items->size() != axis.paths.size()))
      return diags_.error(v.at, fmt::format("expected a list of {} values, one for each of the tied paths, got {}",
                                            axis.paths.size(), v.describe()));
    std::vector<StoredValue> tuple;
    for (std::size_t p = 0; p < axis.paths.size(); ++p)
      if (auto value = read_value(axis.paths.size() > 1 ? (*items)[p] : v, axis.paths[p])) tuple.push_back(*value);
    if (tuple.size() != axis.paths.size()) return;
    const auto same = [&](const std::vector<StoredValue>& other) {
      return std::equal(other.begin(), other.end(), tuple.begin(),
                        [](const StoredValue& a, const StoredValue& b) { return a.text == b.text; });
    };
    if (std::any_of(axis.values.begin(), axis.values.end(), same))
      return diags_.error(v.at, fmt::format("{} stands here a second time", base::plain_text(v)));
    axis.values.push_back(std::move(tuple));
  }

  std::optional<StoredValue> read_value(const Value& v, const std::string& path) {
    if (path == kPaddingAxis) {
      if (!base::as_choice(&v, path, {kBest, "none"}, diags_)) return std::nullopt;
      return StoredValue{base::plain_text(v), std::nullopt};
    }
    if (path == kBlockAxis) {
      const auto complaint = base::plain_text(v) == kBest ? std::nullopt : complaint_of_block(base::plain_text(v));
      if (!complaint) return StoredValue{base::plain_text(v), std::nullopt};
      diags_.error(v.at, fmt::format("{}: {}, got {}", path, *complaint, v.describe()));
      return std::nullopt;
    }
    if (const arch::Number* n = number_at(path, bases_)) {
      const auto amount = amount_of(&v, path, *n, diags_);
      return amount ? std::optional(value_of(*n, *amount)) : std::nullopt;
    }
    return value_of(v);
  }

  void read_range(SweepAxis& axis, const Value& v) {
    const std::string& path = axis.paths.front();
    const arch::Number* n = number_at(path, bases_);
    if (n == nullptr)
      return diags_.error(v.at, fmt::format("{}: a range needs a number that {} has; list the values", path,
                                            bases_.empty() ? "the base" : bases_.front().name));
    base::Fields f(v, "the range of " + path, diags_);
    const auto from = amount_of(f.require("from"), "from", *n, diags_);
    const auto to = amount_of(f.require("to"), "to", *n, diags_);
    const Value* step_value = f.take("step");
    const Value* times_value = f.take("times");
    const auto step = amount_of(step_value, "step", *n, diags_);
    const auto times = base::as_number(times_value, "times", diags_);
    f.finish();
    if ((step_value == nullptr) == (times_value == nullptr))
      return diags_.error(v.at, fmt::format("{}: a range has either step, what is added, or times, the factor", path));
    if (times && *times <= 1) return diags_.error(times_value->at, "times: expected a factor above 1");
    if (!from || !to || (!step && !times)) return;
    if (*from > *to) return diags_.error(v.at, fmt::format("{}: from is more than to; exchange them", path));
    add_range(axis, v, *n, *from, *to, step.value_or(0), times.value_or(1));
  }

  // from, from times `times` plus `step`, and so on up to `to`.
  void add_range(SweepAxis& axis, const Value& v, const arch::Number& n, double from, double to, double step,
                 double times) {
    constexpr double kRounding = 1e-9;
    double at = from;
    for (std::size_t i = 0; at <= to * (1 + kRounding); ++i) {
      const double value = n.whole ? std::round(at) : at;
      if (std::abs(value - at) > kRounding * at)
        return diags_.error(v.at, fmt::format("{}: {:.12g} of the range is no whole number", n.path, at));
      if (i == kMaxValues) return diags_.error(v.at, fmt::format("{}: more than {} values", n.path, kMaxValues));
      axis.values.push_back({value_of(n, value)});
      at = times > 1 ? at * times : from + static_cast<double>(i + 1) * step;
    }
  }

  void read_follower(SweepAxis& axis, const Value& v) {
    const std::string& path = axis.paths.front();
    base::Fields f(v, path, diags_);
    axis.equals = read_formula(f.require("equals"), "equals", bases_, file_);
    f.finish();
    if (number_at(path, bases_) == nullptr)
      diags_.error(axis.at, fmt::format("{}: equals gives numbers, and {} has none there", path,
                                        bases_.empty() ? "the base" : bases_.front().name));
  }

  // A follower reads what stands before it.
  void check_followers() {
    for (auto a = axes_.begin(); a != axes_.end(); ++a) {
      if (!a->equals) continue;
      for (const std::string& path : a->equals->paths())
        for (auto later = a; later != axes_.end(); ++later)
          if (std::find(later->paths.begin(), later->paths.end(), path) != later->paths.end())
            diags_.error(a->equals->at(), later == a
                                              ? fmt::format("{} would follow itself", path)
                                              : fmt::format("{} has its axis further down; put it before", path));
    }
  }

  const std::vector<SweepBase>& bases_;
  const SweepFile& file_;
  Diagnostics& diags_;
  std::vector<std::string> taken_;
  std::vector<SweepAxis> axes_;
};

}  // namespace

std::vector<SweepAxis> read_axes(const Value& axes, const std::vector<SweepBase>& bases, const SweepFile& file) {
  return AxesReader(bases, file).read(axes);
}

}  // namespace tilescope::experiments
