// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/ranking.h"

namespace tilescope::construct {

void TopKBound::add(std::uint32_t of, double us) {
  if (keep_ > kMax) return;
  auto known = std::find_if(best_.begin(), best_.end(), [&](const auto& b) { return b.second == of; });
  if (known != best_.end()) {
    if (known->first <= us) return;
    best_.erase(known);
  } else if (best_.size() == keep_) {
    if (best_.back().first <= us) return;
    best_.pop_back();
  }
  const std::pair<double, std::uint32_t> entry{us, of};
  best_.insert(std::upper_bound(best_.begin(), best_.end(), entry,
                                [](const auto& a, const auto& b) { return a.first < b.first; }),
               entry);
}

void BestPerClass::add(std::uint32_t of, const Evaluated& j) {
  if (places_.size() <= of) places_.resize(of + 1, kNone);
  if (places_[of] == kNone) {
    places_[of] = static_cast<std::uint32_t>(of_each_.size());
    of_each_.push_back({j, added_});
  } else if (Entry& known = of_each_[places_[of]]; j.us < known.evaluated.us) {
    known = {j, added_};
  }
  ++added_;
}

std::vector<Evaluated> BestPerClass::first(std::size_t keep) {
  in_order_.assign(of_each_.begin(), of_each_.end());
  const auto kept = in_order_.begin() + static_cast<std::ptrdiff_t>(std::min(keep, in_order_.size()));
  std::partial_sort(in_order_.begin(), kept, in_order_.end(), [](const Entry& a, const Entry& b) {
    return a.evaluated.us != b.evaluated.us ? a.evaluated.us < b.evaluated.us : a.added < b.added;
  });
  std::vector<Evaluated> out;
  out.reserve(static_cast<std::size_t>(kept - in_order_.begin()));
  for (auto e = in_order_.begin(); e != kept; ++e) out.push_back(e->evaluated);
  return out;
}

void Ranking::add(const Evaluated& j) {
  const Candidate& c = pool_[j.id];
  of_tiles_.add(c.tiles, j);
  of_sizes_.add(c.size, j);
  tiles_.add(c.tiles, j.us);
  sizes_.add(c.size, j.us);
  first_.add(c.tiles, j.us);
}

}  // namespace tilescope::construct
