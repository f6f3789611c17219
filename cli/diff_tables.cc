// SPDX-License-Identifier: Apache-2.0
#include "cli/diff_tables.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/bars.h"
#include "cli/table.h"

namespace tilescope::cli {
namespace {

using api::KernelsChange;
using api::TermChange;

constexpr std::size_t kShownKernels = 20;  // the others are one row
constexpr std::size_t kBar = 40;           // characters of a waterfall

std::string relative(double left, double right) { return left > 0 ? percent_text(right / left - 1) : "-"; }

void print_waterfall(const api::TimeChange& t, const Sides& chips) {
  std::vector<double> times = {t.left_us, t.right_us};
  double now = t.left_us;
  for (const TermChange& c : t.terms) times.push_back(now += c.change_us);
  const BarScale scale(times, kBar);
  const TimeDigits digits(*std::max_element(times.begin(), times.end()));
  Table table({{"term"},
               {chips.left, true, 1},
               {chips.right, true, 1},
               {"change", true},
               {"time so far", true},
               {"waterfall"}});
  table.add({chips.left, "", "", "", digits.text(t.left_us), scale.bar(0, t.left_us, '#')});
  now = t.left_us;
  for (const TermChange& c : t.terms) {
    if (c.change_us == 0) continue;
    const double next = now + c.change_us;
    table.add({c.term, time_text(c.left_us), time_text(c.right_us), digits.change(now, next), digits.text(next),
               scale.bar(now, next, c.change_us < 0 ? '-' : '+')});
    now = next;
  }
  table.add({chips.right, "", "", digits.change(t.left_us, t.right_us), digits.text(t.right_us),
             scale.bar(0, t.right_us, '#')});
  table.print();
}

std::string signed_time(double us) { return (us < 0 ? "-" : "+") + time_text(std::abs(us)); }

// The terms that make up most of a change, largest first.
std::string moved_terms(const KernelsChange& k) {
  constexpr std::size_t kMost = 3;
  constexpr double kLeast = 0.05;  // of all that moved
  double all = 0;
  for (const TermChange& t : k.terms) all += std::abs(t.change_us);
  std::vector<std::string> out;
  for (const TermChange& t : k.terms)
    if (out.size() < kMost && all > 0 && std::abs(t.change_us) >= kLeast * all)
      out.push_back(fmt::format("{} {}", t.term, signed_time(t.change_us)));
  return out.empty() ? "-" : fmt::format("{}", fmt::join(out, ", "));
}

// "dram"; "dram -> smem" where it is another one.
std::string from_to(const std::string& left, const std::string& right) {
  if (left == right) return left;
  return fmt::format("{} -> {}", left.empty() ? "-" : left, right.empty() ? "-" : right);
}

std::string name_of(const KernelsChange& k) {
  return k.nodes.size() == 1 ? k.nodes.front() : k.nodes.front() + " .. " + k.nodes.back();
}

void print_kernels(const api::TimeChange& t, const Sides& chips) {
  std::vector<const KernelsChange*> rows;
  for (const KernelsChange& k : t.kernels)
    if (k.error.empty()) rows.push_back(&k);
  std::stable_sort(rows.begin(), rows.end(), [](const KernelsChange* a, const KernelsChange* b) {
    return std::abs(a->change_us()) > std::abs(b->change_us());
  });
  Table table({{"node"},
               {"kind"},
               {"count", true, 1},
               {"kernels", true, 2},
               {chips.left, true},
               {chips.right, true},
               {"change", true},
               {"bound by", false, 1},
               {"terms that moved"}});
  for (std::size_t i = 0; i < std::min(rows.size(), kShownKernels); ++i) {
    const KernelsChange& k = *rows[i];
    table.add({name_of(k), k.kind, fmt::format("{:g}", k.count),
               from_to(fmt::format("{}", k.left_kernels), fmt::format("{}", k.right_kernels)), time_text(k.left_us),
               time_text(k.right_us), signed_time(k.change_us()), from_to(k.left_bound_by, k.right_bound_by),
               moved_terms(k)});
  }
  if (rows.size() > kShownKernels) {
    double left = 0, right = 0;
    for (std::size_t i = kShownKernels; i < rows.size(); ++i) left += rows[i]->left_us, right += rows[i]->right_us;
    table.add({fmt::format("{} more", rows.size() - kShownKernels), "", "", "", time_text(left), time_text(right),
               signed_time(right - left), "", ""});
  }
  table.print();
}

std::string figure_text(const std::string& unit, double figure) {
  if (unit == "uj") return energy_text(figure);
  return fmt::format("{:.2f} {}", figure, unit == "usd" ? "USD" : unit);
}

}  // namespace

void print_time(const api::TimeChange& time, const std::string& work, const Sides& chips) {
  fmt::print("\n{}: {} on {}, {} on {}, {}\n\n", work, time_text(time.left_us), chips.left, time_text(time.right_us),
             chips.right, relative(time.left_us, time.right_us));
  print_waterfall(time, chips);
  fmt::print("\n");
  print_kernels(time, chips);
  for (const KernelsChange& k : time.kernels)
    if (!k.error.empty()) fmt::print("{} is in no sum: {}\n", name_of(k), k.error);
}

void print_cost(const std::string& what, const api::CostDifference& cost, const Sides& chips) {
  if (!cost.why.empty()) {
    fmt::print("\nno {}: {}\n", what, cost.why);
    return;
  }
  fmt::print("\n{}: {} and {}, {}\n\n", what, figure_text(cost.unit, cost.left()), figure_text(cost.unit, cost.right()),
             relative(cost.left(), cost.right()));
  Table table({{"part"}, {chips.left, true}, {chips.right, true}, {"change", true}});
  for (const api::CostPart& p : cost.parts) {
    const auto text = [&](const std::optional<double>& figure) {
      return figure ? figure_text(cost.unit, *figure) : std::string("-");
    };
    table.add({p.part, text(p.left), text(p.right), relative(p.left.value_or(0), p.right.value_or(0))});
  }
  table.print();
}

}  // namespace tilescope::cli
