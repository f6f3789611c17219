// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of lower/check.h, each of one kernel.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

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

// One kernel of a module, and who is told what is wrong with it.
class KernelCheck {
 public:
  KernelCheck(const Module& m, const Kernel& k, std::string path, const arch::ArchSpec& chip,
              const KernelLimits& limits, const PlaceOf& place, base::Diagnostics& diags)
      : m_(m), k_(k), path_(std::move(path)), chip_(chip), limits_(limits), place_(place), diags_(diags) {}

  // Each is asked where those before it found nothing.
  void positions();   // what every other one relies on
  void sizes();       // of the kernel and its arrays, and how much it runs
  void statements();  // operands
  void accesses();    // stay in their arrays
  void overlaps();
  void progress();

 private:
  template <class... T>
  void wrong(const std::string& path, fmt::format_string<T...> text, T&&... values) {
    const std::string what = fmt::format(text, std::forward<T>(values)...);
    diags_.error(place_(path), fmt::format("{}: {}", path, what));
  }
  template <class Visit>
  void for_all(const Visit& visit) {
    Inside at{path_ + ".body", {}, {}, nullptr};
    walk(k_.body, at, visit);
  }
  const Buffer& buffer(const Access& a) const { return k_.buffers[static_cast<std::size_t>(a.buffer)]; }
  const std::string& name(const Access& a) const { return buffer(a).name; }

  // check.cc
  void scopes(const Affine& a, const Inside& at);
  void amount();
  void swizzled(const Buffer& b, const std::string& path);
  void mbarriers();
  // check_statements.cc
  void statement(const Statement& s, const Inside& at);
  void copy(const Copy& c, const std::string& path);
  void gather(const Copy& c, const std::string& path);
  void compute(const Compute& c, const std::string& path);
  void fragment(const Access& a, base::Dtype dtype, const std::string& path);
  void box(const TmaBox& b, const Inside& at);
  void warps(std::int64_t lanes, const Inside& at);
  void in_space(const Access& a, Space space, const std::string& path);
  void uniform(const Affine& a, const std::string& path);
  void roles(const WarpSpecialized& w, const Inside& at);
  bool of_thread(const Affine& a) const;

  const Module& m_;
  const Kernel& k_;
  std::string path_;
  const arch::ArchSpec& chip_;
  const KernelLimits& limits_;
  const PlaceOf& place_;
  base::Diagnostics& diags_;
};

}  // namespace tilescope::lower
