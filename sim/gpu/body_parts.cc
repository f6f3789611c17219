// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/body_parts.h"

#include <algorithm>

namespace tilescope::sim {
namespace {

using lower::Copy;
using lower::If;
using lower::Loop;
using lower::OneOf;
using lower::Space;
using lower::Statement;
using lower::Visitor;

}  // namespace

Space BodyParts::space_of(const lower::Access& a) const {
  return kernel_.buffers[static_cast<std::size_t>(a.buffer)].space;
}

bool BodyParts::is_products(const Statement& s) {
  const auto all = [](const Body& b) { return !b.empty() && std::all_of(b.begin(), b.end(), &is_products); };
  return std::visit(
      Visitor{[&](const OneOf<Loop, If> auto& l) { return all(l.body); }, [](const Products auto&) { return true; },
              [](const Copy&) { return false; }, [](const RunsAlone auto&) { return false; },
              [](const Synchronizes auto&) { return false; }},
      s.what);
}

bool BodyParts::alone(const Statement& s) const {
  if (is_products(s)) return false;
  return std::visit(
      Visitor{[&](const OneOf<Loop, If> auto& l) {
                if constexpr (requires { l.has_ends(); })
                  if (l.has_ends()) return false;
                return std::all_of(l.body.begin(), l.body.end(), [this](const Statement& x) { return alone(x); });
              },
              [&](const Copy& c) { return space_of(c.to) != Space::kGlobal && space_of(c.from) != Space::kGlobal; },
              [](const RunsAlone auto&) { return true; }, [](const Products auto&) { return false; },
              [](const Synchronizes auto&) { return false; }},
      s.what);
}

bool BodyParts::loads_only(const Statement& s) const {
  return std::visit(
      Visitor{[&](const OneOf<Loop, If> auto& l) {
                return std::all_of(l.body.begin(), l.body.end(), [this](const Statement& x) { return loads_only(x); });
              },
              [&](const Copy& c) { return space_of(c.from) == Space::kGlobal && space_of(c.to) == Space::kRegister; },
              [](const RunsAlone auto&) { return false; }, [](const Products auto&) { return false; },
              [](const Synchronizes auto&) { return false; }},
      s.what);
}

// A loop of loads and of what is done with them, and nothing else: a compiler issues several iterations' loads first.
bool BodyParts::loads_ahead(const Loop& l) const {
  bool some = false, rest = false;
  const auto look = [&](const auto& self, const Body& body) -> bool {
    for (const Statement& s : body) {
      if (loads_only(s)) {
        some = true;
      } else if (alone(s)) {
        rest = true;
      } else {
        const auto* i = std::get_if<If>(&s.what);
        if (i == nullptr || !self(self, i->body)) return false;
      }
    }
    return true;
  };
  return look(look, l.body) && some && rest;
}

bool BodyParts::has(const Statement& s, Part part) const {
  if (part == Part::kAll) return true;
  if (loads_only(s)) return part == Part::kLoads;
  return !alone(s) || part == Part::kRest;
}

}  // namespace tilescope::sim
