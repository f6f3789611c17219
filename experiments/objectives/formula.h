// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic over the numbers of a chip and its results, as a sweep's constraints, followers and objectives write it:
// `memory.smem.banks * memory.smem.bank_width <= 512 B`, `max(time of conv*) * price`. Amounts count in the base unit
// of their dimension (B, Hz, cycles, us, B/s, FLOP/s, V, W, pJ, mm2, USD); whether a sum of two makes sense is not
// checked. For the .cc files of experiments/ alone.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/quantity.h"

namespace tilescope::experiments {

// Whether it names a reduction over operators: max, min, sum, mean, quantile.
bool is_reduction(std::string_view name);

// The text without blanks at its ends.
std::string_view trimmed(std::string_view text);

// A number that the results of several operators have together: `max(time of conv*)`, `quantile(0.9, time of *)`.
struct Reduction {
  enum class How { kMax, kMin, kSum, kMean, kQuantile } how{};
  double share = 1;      // of a quantile
  std::string quantity;  // of each operator
  std::string pattern;   // of the names of operators; * stands for any text, ? for one character
};

// A quantity as base/quantity.h reads it, or an energy in J, mJ, uJ, which is in pJ then.
std::optional<base::Quantity> parse_amount(std::string_view text);

// Whether the name matches the pattern of a reduction.
bool matches(std::string_view pattern, std::string_view name);

// The operators + - * / % ^, comparisons, && || ?: and the functions min, max, abs, floor, ceil, rint, sqrt, log2.
class Formula {
 public:
  // `at` is where the text begins; errors have the columns of their words. A name that is none of the known ones is an
  // error with the closest one. Reductions take the quantities `of_operators`; without these there are none.
  static std::optional<Formula> parse(std::string_view text, base::Position at,
                                      const std::vector<std::string_view>& known_paths, base::Diagnostics& diags,
                                      const std::vector<std::string_view>& of_operators = {});
  Formula(Formula&&) noexcept;
  Formula& operator=(Formula&&) noexcept;
  ~Formula();

  const std::string& text() const;
  base::Position at() const;
  // The names that it reads, each once, in the order of first use: paths, and reductions as they are written.
  const std::vector<std::string>& paths() const;
  // The reduction behind each of the names; nullopt for a path.
  const std::vector<std::optional<Reduction>>& reductions() const;
  // Its value for theirs; comparisons are 1 or 0. Not for several threads at a time.
  double of(const std::vector<double>& values) const;

 private:
  struct Parsed;
  explicit Formula(std::unique_ptr<Parsed> parsed);
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace tilescope::experiments
