#pragma once
// What the checks of arch/ share: errors at a path of the document, and tests that pass where a value is unknown.
// Private to arch/.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "arch/places.h"
#include "base/diagnostics.h"
#include "base/integer.h"
#include "base/units.h"

namespace tilescope::arch {

// One number of a product, and where it stands.
struct Factor {
  Path path;
  std::int64_t value;
};

class Complaints {
 public:
  Complaints(const base::Value& document, base::Diagnostics& diags) : document_(document), diags_(diags) {}

  // An error `path: text` at the value of that path.
  void add(const Path& path, const std::string& text) {
    diags_.error(place_of(document_, path), text_of(path) + ": " + text);
  }

  // An error at the largest factor where the product is beyond 64 bits.
  void require_product(std::initializer_list<Factor> factors) {
    std::optional<std::int64_t> product = 1;
    std::string formula;
    for (const Factor& f : factors) {
      if (product) product = base::checked_mul(*product, f.value);
      formula += (formula.empty() ? "" : " x ") + text_of(f.path);
    }
    if (product) return;
    const auto largest = std::max_element(factors.begin(), factors.end(),
                                          [](const Factor& a, const Factor& b) { return a.value < b.value; });
    diags_.error(place_of(document_, largest->path), formula + " is beyond 64 bits");
  }

  // The map at that path of the document, or null.
  const base::Map* map_at(const Path& path) const {
    const base::Value* value = find_at(document_, path);
    return value == nullptr ? nullptr : value->get_if<base::Map>();
  }
  base::Diagnostics& diagnostics() { return diags_; }

 private:
  const base::Value& document_;
  base::Diagnostics& diags_;
};

// Whether `part` divides `whole`; a zero stands for a value that is unknown or was refused, and passes.
inline bool divides(std::int64_t part, std::int64_t whole) { return part <= 0 || whole <= 0 || whole % part == 0; }
inline bool divides(base::Bytes part, base::Bytes whole) { return divides(part.n, whole.n); }

// "896 or 1024": the multiples on both sides of a value that is none.
inline std::string multiples_near(std::int64_t value, std::int64_t of) {
  const std::int64_t below = value / of * of;
  const auto above = base::checked_add(below, of);
  if (below == 0) return fmt::format("{}", of);
  return above ? fmt::format("{} or {}", below, *above) : fmt::format("{}", below);
}

}  // namespace tilescope::arch
