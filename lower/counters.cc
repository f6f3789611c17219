// SPDX-License-Identifier: Apache-2.0
#include "lower/counters.h"

namespace tilescope::lower {

std::vector<const Copy*> copies_of(const Kernel& k) {
  std::vector<const Copy*> out;
  for_each_statement(k.body, [&](const Statement& s) {
    if (const auto* copy = std::get_if<Copy>(&s.what)) out.push_back(copy);
    if (const auto* load = std::get_if<LoadMatrix>(&s.what)) out.push_back(&load->rows);
  });
  return out;
}

std::vector<const TmaBox*> tma_boxes_of(const Kernel& k) {
  std::vector<const TmaBox*> out;
  for_each_statement(k.body, [&](const Statement& s) {
    if (const auto* load = std::get_if<TmaLoad>(&s.what)) out.push_back(load);
    if (const auto* store = std::get_if<TmaStore>(&s.what)) out.push_back(store);
  });
  return out;
}

}  // namespace tilescope::lower
