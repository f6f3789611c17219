#include "lower/counters.h"

namespace tilescope::lower {

std::vector<const Copy*> copies_of(const Kernel& k) {
  std::vector<const Copy*> out;
  for_each_statement(k.body, [&](const Statement& s) {
    if (const auto* copy = std::get_if<Copy>(&s.what)) out.push_back(copy);
    if (const auto* load = std::get_if<LoadMatrices>(&s.what)) out.push_back(&load->rows);
  });
  return out;
}

std::vector<const BulkCopy*> bulk_copies_of(const Kernel& k) {
  std::vector<const BulkCopy*> out;
  for_each_statement(k.body, [&](const Statement& s) {
    if (const auto* copy = std::get_if<BulkCopy>(&s.what)) out.push_back(copy);
  });
  return out;
}

}  // namespace tilescope::lower
