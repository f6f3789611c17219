// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the checks of arch/ share: errors at a path of the document, and tests that pass where a value is unknown.
// Private to arch/.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arch/detail/places.h"
#include "arch/layers.h"
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
  Complaints(const Layers& layers, base::Diagnostics& diags) : layers_(layers), diags_(diags) {}

  // An error `path: text` at the value of that path. Where the file that extends another has changed one of the
  // `others` that the value does not agree with, the error stands there: that file has made it.
  void add(const Path& path, const std::string& text, const std::vector<Path>& others = {}) {
    const base::Value* blamed = find_at(layers_.chip, path);
    for (const Path& other : others) {
      const base::Value* value = find_at(layers_.chip, other);
      if (value == nullptr) continue;
      if (blamed == nullptr || layers_.height_of(*value) > layers_.height_of(*blamed)) blamed = value;
    }
    diags_.error(blamed == nullptr ? place_of(layers_.chip, path) : blamed->at, text_of(path) + ": " + text);
  }

  // Whether the file, or override, that states `other` extends the one that states the value.
  bool is_older(const Path& path, const Path& other) const {
    const base::Value *value = find_at(layers_.chip, path), *newer = find_at(layers_.chip, other);
    return value != nullptr && newer != nullptr && layers_.height_of(*newer) > layers_.height_of(*value);
  }

  // A note `path: text` at the value of that path.
  void note(const Path& path, const std::string& text) {
    diags_.note(place_of(layers_.chip, path), text_of(path) + ": " + text);
  }

  // An error where the product is beyond 64 bits: at the factor that the last file changed, or the largest of several.
  void require_product(std::initializer_list<Factor> factors) {
    std::optional<std::int64_t> product = 1;
    std::string formula;
    for (const Factor& f : factors) {
      if (product) product = base::checked_mul(*product, f.value);
      formula += (formula.empty() ? "" : " x ") + text_of(f.path);
    }
    if (product) return;
    const auto rank = [&](const Factor& f) {
      const base::Value* value = find_at(layers_.chip, f.path);
      return std::pair(value == nullptr ? 0 : layers_.height_of(*value), f.value);
    };
    const auto blamed = std::max_element(factors.begin(), factors.end(),
                                         [&](const Factor& a, const Factor& b) { return rank(a) < rank(b); });
    diags_.error(place_of(layers_.chip, blamed->path), formula + " is beyond 64 bits");
  }

  // An error `path.key: text` at every key of the map at that path that is not known.
  void require_known(const Path& path, const std::vector<std::string_view>& known, std::string_view text) {
    const base::Map* entries = map_at(path);
    if (entries == nullptr) return;
    for (const base::Entry& e : *entries)
      if (std::find(known.begin(), known.end(), e.key) == known.end())
        diags_.error(e.at, fmt::format("{}.{}: {}{}", text_of(path), e.key, text, base::did_you_mean(e.key, known)));
  }

  // The map at that path of the document, or null.
  const base::Map* map_at(const Path& path) const {
    const base::Value* value = find_at(layers_.chip, path);
    return value == nullptr ? nullptr : value->get_if<base::Map>();
  }
  base::Diagnostics& diagnostics() { return diags_; }

 private:
  const Layers& layers_;
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
