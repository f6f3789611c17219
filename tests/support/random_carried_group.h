// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random stages around a softmax and other reductions along one axis, as programs that carry them on from step to step
// (tile/group_loop.h). Call inside a property: rapidcheck prints the seed.

#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/expected_values.h"
#include "tests/support/random_group.h"

namespace tilescope::tests {

// Writes scores S of m rows and n columns, what is reduced of them along n, and one result of all that.
// `mask`, which may be empty: a condition on m and n that scores keep, and else are -inf.
class RandomCarriedStages {
 public:
  explicit RandomCarriedStages(std::string mask = {}) : mask_(std::move(mask)) {}

  std::string text() {
    write_scores();
    const std::int64_t kind = evenly(0, 5);
    if (kind <= 3) write_softmax();
    if (kind >= 3) write_plain();
    write_result();
    return fmt::format("{}", fmt::join(stages_, "; "));
  }

 private:
  void add(const std::string& stage) { stages_.push_back(stage); }

  void write_scores() {
    if (evenly(0, 3) > 0)
      add("S[m,n] +=! Q[m,d] * K[n,d]");
    else
      add("S[m,n] = X[m,n]");
    if (!mask_.empty()) {
      add(fmt::format("T[m,n] = select({}, S[m,n]{}, -inf)", mask_, one_of<std::string>({"", " * 0.5"})));
      scores_ = "T";
      return;
    }
    if (evenly(0, 2) == 0) return;
    add(one_of<std::string>({"T[m,n] = S[m,n] + mask[n]", "T[m,n] = S[m,n] + mask[n]", "T[m,n] = S[m,n] * 0.5"}));
    scores_ = "T";
  }

  void write_softmax() {
    const bool masked = !mask_.empty() || stages_.back().find("mask") != std::string::npos;
    const bool least = !masked && evenly(0, 3) == 0;
    const std::string below = least ? fmt::format("M[m] - {}[m,n]", scores_) : fmt::format("{}[m,n] - M[m]", scores_);
    const char* form = one_of<const char*>({"exp({})", "exp(({}) * 0.5)", "exp(({}) / 2) * abs(Y[m])"});
    add(fmt::format("M[m] {} {}[m,n]", least ? "min=!" : "max=!", scores_));
    add("E[m,n] = " + fmt::format(fmt::runtime(form), below));
    const bool sums = evenly(0, 3) > 0;
    if (sums) add(one_of<std::string>({"L[m] +=! E[m,n]", "L[m] mean=! E[m,n]"}));
    if (!sums || evenly(0, 3) > 0) {
      add(one_of<std::string>(
          {"U[m,v] +=! E[m,n] * V[n,v]", "U[m,v] +=! V[n,v] * E[m,n] / 4", "U[v,m] mean=! relu(E[m,n]) * V[n,v]"}));
      add_term(stages_.back().substr(0, 6) + (sums && evenly(0, 1) == 0 ? " / L[m]" : ""), true);
      if (sums && terms_.back().find('L') == std::string::npos) add_term("L[m]", false);
    } else {
      add_term("L[m]", false);
    }
    if (sums && evenly(0, 2) == 0) add_term("M[m] + log(L[m])", false);
  }

  void write_plain() {
    switch (evenly(0, 3)) {
      case 0:
        add(fmt::format("A[m] {} abs({}[m,n])", one_of<std::string>({"max=!", "min=!"}), scores_));
        return add_term("A[m]", false);
      case 1:
        add(fmt::format("A[m] max=! {}[m,n] - Y[m]", scores_));
        return add_term("relu(A[m])", false);
      case 2:
        add(fmt::format("R[m,n] = relu({}[m,n])", scores_));
        add("A[m,v] +=! R[m,n] * W[v,n]");
        return add_term("A[m,v]", true);
      default:
        add(fmt::format("A[m] {} relu({}[m,n]) + Y[m]", one_of<std::string>({"+=!", "mean=!"}), scores_));
        return add_term("A[m]", false);
    }
  }

  void add_term(std::string term, bool columns) {
    terms_.push_back(std::move(term));
    columns_ = columns_ || columns;
  }

  // Nothing where one stage alone has what there is.
  void write_result() {
    const std::string& last = stages_.back();
    if (terms_.size() == 1 && last.substr(0, terms_[0].size()) == terms_[0] && evenly(0, 1) == 0) return;
    add(fmt::format("O[m{}] = {}", columns_ ? ",v" : "", fmt::join(terms_, " + ")));
  }

  std::string mask_, scores_ = "S";
  std::vector<std::string> stages_, terms_;
  bool columns_ = false;
};

// Some columns are masked, most at the beginning, whole steps of them among these, and never the last one.
inline void add_mask(const tile::RProgram& p, lower::NamedValues& values) {
  for (std::size_t s = 0; s < p.stages(); ++s)
    for (const expr::Tensor& t : p.space(s).expression.tensors) {
      if (t.name != "mask") continue;
      std::mt19937 random(1);
      expr::Values& mask = values[t.name];
      mask.clear();
      for (std::int64_t i = 0; i < t.elements(); ++i)
        mask.push_back(i + 1 == t.elements() || random() % 64 < static_cast<std::uint64_t>(i)
                           ? 0
                           : -std::numeric_limits<double>::infinity());
    }
}

// Discards what the chip's scratchpad does not hold. `mask` as above; with one, n is at least five times m.
inline tile::RProgram any_carried_program(const arch::ArchSpec& chip, const std::string& mask = {}) {
  const std::string text = RandomCarriedStages(mask).text();
  std::vector<std::string> sizes;
  for (const char axis : {'m', 'n', 'd', 'v'})
    for (const std::string before : {"[", ","})
      if (text.find(before + axis + "]") != std::string::npos || text.find(before + axis + ",") != std::string::npos) {
        sizes.push_back(fmt::format("{}={}", axis, axis == 'n' ? evenly(mask.empty() ? 1 : 60, 70) : evenly(1, 12)));
        break;
      }
  const auto dtype = one_of<base::Dtype>({base::Dtype::kF32, base::Dtype::kF32, base::Dtype::kF64, base::Dtype::kF16});
  const expr::Expression e = expression(text, fmt::format("{}", fmt::join(sizes, ",")), {}, dtype);
  RandomLoop loop{{}, one_of<std::int64_t>({1, 2, 3, 4, 6, 8, 12, 16, 24})};
  for (const expr::Stage& s : e.stages) {
    loop.axes.push_back(-1);
    for (std::size_t a = 0; a < s.axes.size(); ++a)
      if (s.axes[a].name == "n") loop.axes.back() = static_cast<int>(a);
  }
  tile::RProgram p = RandomGroup(e, chip, loop).any();
  discard_unless_it_fits(p, chip);
  return p;
}

}  // namespace tilescope::tests
