// What the bases of a sweep say at the paths of its axes and expressions.

#include <algorithm>

#include "base/plain_text.h"
#include "experiments/sweep_spec.h"

namespace tilescope::experiments {

const arch::Number* SweepBase::number(std::string_view at) const {
  const auto found = std::find_if(numbers.begin(), numbers.end(), [&](const auto& n) { return n.path == at; });
  return found == numbers.end() ? nullptr : &*found;
}

const arch::Number* number_at(std::string_view path, const std::vector<SweepBase>& bases) {
  for (const SweepBase& b : bases)
    if (const arch::Number* n = b.number(path)) return n;
  return nullptr;
}

std::vector<std::string_view> number_paths(const std::vector<SweepBase>& bases) {
  std::vector<std::string_view> out;
  for (const SweepBase& b : bases)
    for (const arch::Number& n : b.numbers)
      if (std::find(out.begin(), out.end(), n.path) == out.end()) out.push_back(n.path);
  return out;
}

StoredValue value_of(const arch::Number& n, double amount) {
  return {base::plain_text(arch::written(n, amount)), amount};
}

}  // namespace tilescope::experiments
