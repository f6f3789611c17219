// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of lower/check.h, each of one kernel.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "lower/check.h"
#include "lower/statement_parts.h"

namespace tilescope::lower {

// The values of an index, and of sums of them, have so many bits.
inline constexpr int kIndexBits = 50;

// As range_of, where that fits; the ranges are the kernel's, or by index.
std::optional<expr::Span> checked_range(const Kernel& k, const Affine& a);
std::optional<expr::Span> checked_range(const std::vector<expr::Span>& ranges, const Affine& a);

// Of an index that is derived from values in that range.
expr::Span derived_range(const expr::Span& of, std::int64_t divisor, std::int64_t modulus);

// A statement on the way through a kernel: where it is, and in what.
struct Inside {
  std::string path;
  std::vector<int> loops;          // indices of the loops around it
  std::vector<const Guard*> when;  // of the Ifs around it
  const WarpRole* role = nullptr;
};

// Calls visit(statement, inside) for every statement, those inside it after it.
template <class Visit>
void walk(const std::vector<Statement>& body, Inside& at, const Visit& visit) {
  const std::string path = at.path;
  for (std::size_t n = 0; n < body.size(); ++n) {
    const Statement& s = body[n];
    at.path = fmt::format("{}[{}]", path, n);
    visit(s, static_cast<const Inside&>(at));
    const std::string own = at.path;
    if (const auto* l = std::get_if<Loop>(&s.what)) {
      at.loops.push_back(l->index);
      at.path = own + ".body";
      walk(l->body, at, visit);
      at.loops.pop_back();
    } else if (const auto* i = std::get_if<If>(&s.what)) {
      for (const Guard& g : i->when) at.when.push_back(&g);
      at.path = own + ".body";
      walk(i->body, at, visit);
      at.when.resize(at.when.size() - i->when.size());
    } else if (const auto* w = std::get_if<WarpSpecialized>(&s.what)) {
      for (std::size_t r = 0; r < w->roles.size(); ++r) {
        at.role = &w->roles[r];
        at.path = fmt::format("{}.roles[{}].body", own, r);
        walk(w->roles[r].body, at, visit);
      }
      at.role = nullptr;
    }
  }
  at.path = path;
}

// A kernel of a module that is checked, by what it is held to, and where its mistakes are told.
struct CheckedKernel {
  const Module& m;
  const Kernel& k;
  std::string path;
  const arch::ArchSpec& chip;
  const KernelLimits& limits;
  const PlaceOf& place;
  base::Diagnostics& diags;

  template <class... T>
  void wrong(const std::string& where, fmt::format_string<T...> text, T&&... values) const {
    const std::string what = fmt::format(text, std::forward<T>(values)...);
    diags.error(place(where), fmt::format("{}: {}", where, what));
  }
  // Calls visit(statement, inside) for every statement.
  template <class Visit>
  void for_all(const Visit& visit) const {
    Inside at{path + ".body", {}, {}, nullptr};
    walk(k.body, at, visit);
  }
  const Buffer& buffer(const Access& a) const { return k.buffers[static_cast<std::size_t>(a.buffer)]; }
};

// Each is asked where those before it found nothing.
void check_positions(const CheckedKernel& of);   // what every other one relies on
void check_sizes(const CheckedKernel& of);       // of the kernel and its arrays, and how much it runs
void check_statements(const CheckedKernel& of);  // operands
void check_accesses(const CheckedKernel& of);    // stay in their arrays
void check_overlaps(const CheckedKernel& of);    // of arrays in use
void check_progress(const CheckedKernel& of);    // every wait ends

}  // namespace tilescope::lower
