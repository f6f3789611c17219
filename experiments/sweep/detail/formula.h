// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic over the numbers of a chip, as a sweep's constraints and followers write it:
// `memory.smem.banks * memory.smem.bank_width <= 512 B`. Amounts count in the base unit of their dimension (B, Hz,
// cycles, us, B/s, FLOP/s); whether a sum of two makes sense is not checked. For the .cc files of experiments/ alone.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace tilescope::experiments {

// The operators + - * / % ^, comparisons, && || ?: and the functions min, max, abs, floor, ceil, rint, sqrt, log2.
class Formula {
 public:
  // `at` is where the text begins; errors have the columns of their words. A name that is none of the known paths is an
  // error with the closest one.
  static std::optional<Formula> parse(std::string_view text, base::Position at,
                                      const std::vector<std::string_view>& known_paths, base::Diagnostics& diags);
  Formula(Formula&&) noexcept;
  Formula& operator=(Formula&&) noexcept;
  ~Formula();

  const std::string& text() const;
  base::Position at() const;
  // The paths that it reads, each once, in the order of first use.
  const std::vector<std::string>& paths() const;
  // Its value for theirs; comparisons are 1 or 0. Not for several threads at a time.
  double of(const std::vector<double>& values) const;

 private:
  struct Parsed;
  explicit Formula(std::unique_ptr<Parsed> parsed);
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace tilescope::experiments
