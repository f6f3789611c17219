// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/product_loops.h"

#include <algorithm>

#include "lower/statement_parts.h"
#include "sim/gpu/detail/lifetimes.h"

namespace tilescope::sim {
namespace {

using lower::AccessKind;
using lower::Kernel;
using lower::Statement;

// What a body does with each register array.
struct Use {
  explicit Use(std::size_t arrays) : loaded(arrays, false), read(arrays, false), added(arrays, false) {}

  std::vector<bool> loaded, read, added;  // from memory, by arithmetic, to
  bool waits = false;                     // at a barrier
};

Use use_of(const Kernel& k, const std::vector<Statement>& body) {
  Use use(k.buffers.size());
  lower::for_each_statement(body, [&](const Statement& s) {
    use.waits = use.waits || is_barrier(s);
    const bool computes = std::holds_alternative<lower::Compute>(s.what);
    lower::for_each_access(s, [&](const lower::Access& a, AccessKind kind) {
      const auto b = static_cast<std::size_t>(a.buffer);
      if (k.buffers[b].space != lower::Space::kRegister) return;
      if (kind == AccessKind::kWrite && !computes) use.loaded[b] = true;
      if (kind == AccessKind::kRead && computes) use.read[b] = true;
      if (kind == AccessKind::kAccumulate && computes) use.added[b] = true;
    });
  });
  return use;
}

bool any(const std::vector<bool>& of) { return std::find(of.begin(), of.end(), true) != of.end(); }

class Finder {
 public:
  Finder(Kernel& k, const std::function<void(const ProductLoop&, std::vector<Statement>&)>& visit)
      : kernel_(k), visit_(visit) {}

  // Whether there is one in the body.
  bool find(std::vector<Statement>& body) {
    bool found = false;
    for (Statement& s : body) {
      bool inside = false;
      lower::for_inner_bodies(s, [&](std::vector<Statement>& inner) { inside = find(inner) || inside; });
      if (auto* loop = std::get_if<lower::Loop>(&s.what); loop != nullptr && !inside) inside = take(*loop);
      found = found || inside;
    }
    return found;
  }

 private:
  bool take(lower::Loop& loop) {
    const Use use = use_of(kernel_, loop.body);
    bool reads_what_it_loads = false;
    for (std::size_t b = 0; b < use.read.size(); ++b) reads_what_it_loads |= use.read[b] && use.loaded[b];
    if (!reads_what_it_loads || !any(use.added)) return false;
    if (use.waits) return true;  // what holds it holds no other
    ProductLoop out{use.added, 0, 0};
    for (std::size_t b = 0; b < use.read.size(); ++b) {
      const std::int64_t registers = registers_of(kernel_.buffers[b]);
      if (use.added[b]) out.of_sums += registers;
      if (use.read[b] && !use.added[b]) out.of_operands += registers;
    }
    visit_(out, loop.body);
    return true;
  }

  Kernel& kernel_;
  const std::function<void(const ProductLoop&, std::vector<Statement>&)>& visit_;
};

}  // namespace

void for_each_product_loop(Kernel& k, const std::function<void(const ProductLoop&, std::vector<Statement>&)>& visit) {
  Finder(k, visit).find(k.body);
}

ProductLoop largest_product_loop(const Kernel& k) {
  Kernel own = k;
  ProductLoop largest;
  for_each_product_loop(own, [&](const ProductLoop& loop, auto&) {
    if (loop.registers() > largest.registers()) largest = loop;
  });
  return largest;
}

}  // namespace tilescope::sim
