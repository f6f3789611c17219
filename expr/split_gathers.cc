// SPDX-License-Identifier: Apache-2.0
#include "expr/detail/split_gathers.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilescope::expr {
namespace {

bool gathers(const NamedRead& r) {
  return std::any_of(r.coordinates.begin(), r.coordinates.end(), [](const auto& c) { return c.table >= 0; });
}

bool is_split(const ParsedStage& s) {
  return s.reducer != Reducer::kNone && s.body.size() > 1 && std::any_of(s.reads.begin(), s.reads.end(), gathers);
}

class Splitter {
 public:
  Splitter(const std::vector<ParsedStage>& stages, base::Diagnostics& diags) : diags_(diags) {
    for (const ParsedStage& s : stages) {
      names_.insert(s.output);
      for (const NamedRead& r : s.reads) names_.insert(r.tensor);
    }
  }

  void add(const ParsedStage& stage) {
    if (!is_split(stage)) return push(stage, false);
    ParsedStage rest = stage;
    for (NamedRead& r : rest.reads)
      if (gathers(r)) r = split_off(rest, r);
    drop_unused_reads(rest);
    push(std::move(rest), true);
  }

  SplitGathers take() { return std::move(out_); }

 private:
  void push(ParsedStage stage, bool changed) {
    out_.stages.push_back(std::move(stage));
    out_.changed.push_back(changed);
  }

  // Adds the stage of a read; the read of its output.
  NamedRead split_off(const ParsedStage& of, const NamedRead& read) {
    ParsedStage s;
    s.output = free_name(of.output + "_" + read.tensor);
    s.output_at = read.at;
    NamedRead gathered = read, result{s.output, {}, read.at, std::nullopt};
    const auto add_axes = [&](const NamedCoordinate& c) {
      for (const NamedTerm& t : c.terms)
        if (std::none_of(s.output_axes.begin(), s.output_axes.end(), [&](const auto& a) { return a.name == t.axis; })) {
          s.output_axes.push_back({t.axis, t.at});
          result.coordinates.push_back({{{t.axis, 1, t.at}}});
        }
    };
    for (NamedCoordinate& c : gathered.coordinates) {
      if (c.table < 0) {
        add_axes(c);
        continue;
      }
      s.reads.push_back(of.reads[static_cast<std::size_t>(c.table)]);
      c.table = 0;
      for (const NamedCoordinate& inner : s.reads.back().coordinates) add_axes(inner);
    }
    if (s.output_axes.empty() || s.output_axes.size() > kMaxRank)
      diags_.error(read.at, fmt::format("the read of '{}' uses {} axes: expected 1 to {}, for it is a stage of its own",
                                        read.tensor, s.output_axes.size(), kMaxRank));
    s.reads.push_back(std::move(gathered));
    s.body = {{.kind = NodeKind::kRead, .index = 1}};
    out_.notes.push_back(fmt::format("the read of '{}' by a table, in the stage of '{}', is a stage of its own, '{}'",
                                     read.tensor, of.output, s.output));
    push(std::move(s), true);
    return result;
  }

  std::string free_name(const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; !names_.insert(name).second; ++n) name = fmt::format("{}{}", wanted, n);
    return name;
  }

  // Tables that nothing reads any more. No coordinate is read from one that is left.
  static void drop_unused_reads(ParsedStage& s) {
    std::vector<int> renamed(s.reads.size(), -1);
    for (const Node& n : s.body)
      if (n.kind == NodeKind::kRead) renamed[static_cast<std::size_t>(n.index)] = 0;
    std::vector<NamedRead> kept;
    for (std::size_t r = 0; r < s.reads.size(); ++r) {
      if (renamed[r] < 0) continue;
      renamed[r] = static_cast<int>(kept.size());
      kept.push_back(std::move(s.reads[r]));
    }
    s.reads = std::move(kept);
    for (Node& n : s.body)
      if (n.kind == NodeKind::kRead) n.index = renamed[static_cast<std::size_t>(n.index)];
  }

  base::Diagnostics& diags_;
  std::set<std::string> names_;  // of tensors
  SplitGathers out_;
};

}  // namespace

SplitGathers split_gathers(const std::vector<ParsedStage>& stages, base::Diagnostics& diags) {
  Splitter splitter(stages, diags);
  for (const ParsedStage& s : stages) splitter.add(s);
  return splitter.take();
}

}  // namespace tilescope::expr
