#include "lower/counters.h"

namespace tilescope::lower {
namespace {

void collect(const std::vector<Statement>& body, std::vector<const Copy*>& out) {
  for (const Statement& s : body) {
    if (const auto* copy = std::get_if<Copy>(&s.what)) out.push_back(copy);
    if (const auto* load = std::get_if<LoadMatrices>(&s.what)) out.push_back(&load->rows);
    if (const auto* loop = std::get_if<Loop>(&s.what)) collect(loop->body, out);
    if (const auto* branch = std::get_if<If>(&s.what)) collect(branch->body, out);
  }
}

}  // namespace

std::vector<const Copy*> copies_of(const Kernel& k) {
  std::vector<const Copy*> out;
  collect(k.body, out);
  return out;
}

}  // namespace tilescope::lower
