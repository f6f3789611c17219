// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes to kernels that are right, for tests that plant mistakes.

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lower/counters.h"
#include "lower/kernel.h"

namespace tilescope::tests {

using Body = std::vector<lower::Statement>;

// Calls `visit` on every list of statements, the kernel's own first.
inline void each_body(Body& body, const std::function<void(Body&)>& visit) {
  visit(body);
  for (lower::Statement& s : body) lower::for_inner_bodies(s, [&](Body& inner) { each_body(inner, visit); });
}

// Removes the n-th statement of a kind; false where there are fewer.
template <class Kind>
bool remove(lower::Kernel& k, int n) {
  bool removed = false;
  each_body(k.body, [&](Body& body) {
    for (std::size_t i = 0; i < body.size() && !removed; ++i)
      if (std::holds_alternative<Kind>(body[i].what) && n-- == 0) {
        body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
        removed = true;
      }
  });
  return removed;
}

// Guards of every `If`, in order.
inline std::vector<lower::Guard*> if_guards(lower::Kernel& k) {
  std::vector<lower::Guard*> out;
  each_body(k.body, [&](Body& body) {
    for (lower::Statement& s : body)
      if (auto* branch = std::get_if<lower::If>(&s.what))
        for (lower::Guard& g : branch->when) out.push_back(&g);
  });
  return out;
}

inline lower::Copy& copy_of(lower::Kernel& k, std::size_t n) {
  return const_cast<lower::Copy&>(*lower::copies_of(k).at(n));
}

inline lower::Buffer& buffer_of(lower::Kernel& k, const std::string& name) {
  return *std::find_if(k.buffers.begin(), k.buffers.end(), [&](const lower::Buffer& b) { return b.name == name; });
}

// The first copy to an array.
inline lower::Copy& copy_to(lower::Kernel& k, const std::string& name) {
  for (const lower::Copy* c : lower::copies_of(k))
    if (k.buffers[static_cast<std::size_t>(c->to.buffer)].name == name) return const_cast<lower::Copy&>(*c);
  throw std::logic_error("no copy to " + name);
}

// A mistake in the one kernel of small_group.
struct GroupFault {
  std::string what;
  std::function<void(lower::Kernel&)> plant;
};

inline std::vector<GroupFault> group_faults() {
  std::vector<GroupFault> out;
  for (const std::string tensor : {"S", "M", "E", "L"}) {
    out.push_back({"no barrier behind " + tensor, [=](lower::Kernel& k) {
                     each_body(k.body, [&](Body& body) {
                       std::erase_if(body, [&](const lower::Statement& s) { return s.note == tensor + " is whole"; });
                     });
                   }});
    out.push_back({tensor + " lacks the last rows that are read", [=](lower::Kernel& k) {
                     const std::int64_t tile = tensor == "L" ? 8 : tensor == "E" ? 12 : 16;
                     lower::Copy& gather = copy_to(k, tensor + "_kept");
                     const std::int64_t row = buffer_of(k, tensor + "_kept").elements / tile;
                     gather.when.push_back({gather.to.offset, row * (tensor == "L" ? 4 : 8)});
                   }});
  }
  for (const auto& [one, other] : {std::pair("M", "S"), {"E", "M"}, {"L", "E"}})
    out.push_back({std::string(one) + " lies where " + other + " does",
                   [from = std::string(other) + "_kept", to = std::string(one) + "_kept"](lower::Kernel& k) {
                     buffer_of(k, to).offset_bytes = buffer_of(k, from).offset_bytes;
                   }});
  for (const int n : {0, 1})
    out.push_back({"half of the lanes in reduction " + std::to_string(n), [=](lower::Kernel& k) {
                     int at = 0;
                     each_body(k.body, [&](Body& body) {
                       for (lower::Statement& s : body)
                         if (auto* reduce = std::get_if<lower::ReduceLanes>(&s.what); reduce != nullptr && at++ == n)
                           reduce->lanes /= 2;
                     });
                   }});
  for (const std::string tensor : {"M", "L"})
    out.push_back({"all that share " + tensor + " store it",
                   [=](lower::Kernel& k) { copy_to(k, tensor + "_kept").when.clear(); }});
  out.push_back({"a minimum that goes beyond its end", [](lower::Kernel& k) {
                   each_body(k.body, [&](Body& body) {
                     for (lower::Statement& s : body)
                       if (auto* compute = std::get_if<lower::Compute>(&s.what);
                           compute != nullptr && compute->reducer == expr::Reducer::kMin)
                         compute->when.clear();
                   });
                 }});
  return out;
}

}  // namespace tilescope::tests
