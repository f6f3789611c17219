#include "lower/counters.h"

namespace tilescope::lower {
namespace {

void collect(const std::vector<Statement>& body, std::vector<const BulkCopy*>& out) {
  for (const Statement& s : body) {
    if (const auto* copy = std::get_if<BulkCopy>(&s.what)) out.push_back(copy);
    for_inner_bodies(s, [&](const std::vector<Statement>& inner) { collect(inner, out); });
  }
}

void collect(const std::vector<Statement>& body, std::vector<const Copy*>& out) {
  for (const Statement& s : body) {
    if (const auto* copy = std::get_if<Copy>(&s.what)) out.push_back(copy);
    if (const auto* load = std::get_if<LoadMatrices>(&s.what)) out.push_back(&load->rows);
    for_inner_bodies(s, [&](const std::vector<Statement>& inner) { collect(inner, out); });
  }
}

}  // namespace

std::vector<const Copy*> copies_of(const Kernel& k) {
  std::vector<const Copy*> out;
  collect(k.body, out);
  return out;
}

std::vector<const BulkCopy*> bulk_copies_of(const Kernel& k) {
  std::vector<const BulkCopy*> out;
  collect(k.body, out);
  return out;
}

}  // namespace tilescope::lower
