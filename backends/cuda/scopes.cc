// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/scopes.h"

#include <algorithm>
#include <variant>

#include "lower/statement_parts.h"

namespace tilescope::cuda {
namespace {

using lower::Affine;
using lower::AffineTerm;
using lower::IndexKind;

bool has(const std::vector<int>& set, int value) { return std::find(set.begin(), set.end(), value) != set.end(); }

}  // namespace

Scopes::Scopes(const lower::Kernel& kernel)
    : kernel_(kernel), loops_of_(kernel.indices.size()), of_thread_(kernel.indices.size()) {
  for (std::size_t i = 0; i < kernel.indices.size(); ++i) {
    if (kernel.indices[i].kind == IndexKind::kLoop) loops_of_[i] = {static_cast<int>(i)};
    of_thread_[i] = kernel.indices[i].kind == IndexKind::kThread;
    for (const AffineTerm& t : kernel.indices[i].of.terms)
      if (of_thread_[static_cast<std::size_t>(t.index)]) of_thread_[i] = true;
    for (const AffineTerm& t : kernel.indices[i].of.terms)
      for (const int loop : loops_of_[static_cast<std::size_t>(t.index)])
        if (!has(loops_of_[i], loop)) loops_of_[i].push_back(loop);
  }
}

bool Scopes::is_over_tiles(const lower::Loop& loop) const {
  const auto space_of = [&](const lower::Access& a) {
    return kernel_.buffers[static_cast<std::size_t>(a.buffer)].space;
  };
  bool waits = false, gathers = false;
  lower::for_each_statement(loop.body, [&](const lower::Statement& s) {
    waits = waits || std::holds_alternative<lower::MbarrierWait>(s.what);
    const auto* copy = std::get_if<lower::Copy>(&s.what);
    gathers = gathers || (copy != nullptr && space_of(copy->from) == lower::Space::kRegister &&
                          space_of(copy->to) == lower::Space::kShared);
  });
  return waits && gathers;
}

// A derived index stands after those it is made of, so one pass backwards finds all.
std::vector<bool> Scopes::used_in(const std::vector<lower::Statement>& body, bool in_loops_over_tiles) const {
  std::vector<bool> used(kernel_.indices.size(), false);
  const auto mark = [&](const Affine& a) {
    for (const AffineTerm& t : a.terms) used[static_cast<std::size_t>(t.index)] = true;
  };
  const auto look = [&](const auto& self, const std::vector<lower::Statement>& in) -> void {
    for (const lower::Statement& s : in) {
      lower::for_each_place(s, mark);
      // Which lanes read is not written down.
      if (!std::holds_alternative<lower::LoadMatrix>(s.what)) lower::for_each_guard(s, mark);
      const auto* loop = std::get_if<lower::Loop>(&s.what);
      if (!in_loops_over_tiles && loop != nullptr && is_over_tiles(*loop)) continue;
      lower::for_inner_bodies(s, [&](const std::vector<lower::Statement>& inner) { self(self, inner); });
    }
  };
  look(look, body);
  for (std::size_t i = used.size(); i-- > 0;)
    if (used[i])
      for (const AffineTerm& t : kernel_.indices[i].of.terms) used[static_cast<std::size_t>(t.index)] = true;
  return used;
}

std::vector<int> Scopes::at_top() const {
  const std::vector<bool> used = used_in(kernel_.body), outside = used_in(kernel_.body, false);
  std::vector<int> out;
  for (std::size_t i = 0; i < used.size(); ++i)
    if ((of_thread_[i] ? outside[i] : used[i]) && loops_of_[i].empty()) out.push_back(static_cast<int>(i));
  return out;
}

std::vector<int> Scopes::at_loop(const lower::Loop& loop, const std::vector<int>& open) const {
  const std::vector<bool> used = used_in(loop.body);
  const bool over_tiles = open.empty() && is_over_tiles(loop);
  std::vector<int> out;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::vector<int>& loops = loops_of_[i];
    const bool known = std::all_of(loops.begin(), loops.end(), [&](int l) { return l == loop.index || has(open, l); });
    const bool anew = over_tiles && of_thread_[i] && loops.empty();
    if (used[i] && (anew || (kernel_.indices[i].kind == IndexKind::kDerived && has(loops, loop.index) && known)))
      out.push_back(static_cast<int>(i));
  }
  return out;
}

}  // namespace tilescope::cuda
