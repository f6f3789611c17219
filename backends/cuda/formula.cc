// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/formula.h"

#include <cstdlib>
#include <limits>

#include <fmt/format.h>

namespace tilescope::cuda {
namespace {

using lower::Affine;
using lower::AffineTerm;

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

bool fits_32_bits(const expr::Span& s) { return s.low >= -kMaxInt && s.high <= kMaxInt; }

}  // namespace

std::string_view type_of(base::Dtype dtype) {
  switch (dtype) {
    case base::Dtype::kF32:
      return "float";
    case base::Dtype::kTf32:
      return "tf32";
    case base::Dtype::kF16:
      return "f16";
    case base::Dtype::kBf16:
      return "bf16";
    case base::Dtype::kI8:
      return "signed char";
    case base::Dtype::kU8:
      return "unsigned char";
    case base::Dtype::kI32:
      return "int";
    case base::Dtype::kF64:
      return "double";
    case base::Dtype::kF8E4M3:
      return "f8e4m3";
    case base::Dtype::kF8E5M2:
      return "f8e5m2";
    case base::Dtype::kF8E4M3Fnuz:
      return "f8e4m3fnuz";
    case base::Dtype::kF8E5M2Fnuz:
      return "f8e5m2fnuz";
  }
  return {};
}

// No partial sum leaves 32 bits where the magnitudes of all terms together fit.
bool Formulas::needs_64_bits(const Affine& a) const {
  std::int64_t most = std::abs(a.constant);
  for (const AffineTerm& t : a.terms) {
    const expr::Span s = lower::range_of(kernel_, Affine{{t}, 0});
    most += std::max(std::abs(s.low), std::abs(s.high));
  }
  return most > kMaxInt;
}

std::string_view Formulas::type_of_index(int i) const {
  const bool wide = !fits_32_bits(index(i).range) || needs_64_bits(index(i).of);
  return wide ? "long long" : "int";
}

std::string Formulas::affine(const Affine& a) const {
  const bool wide = needs_64_bits(a);
  std::string out;
  for (const AffineTerm& t : a.terms) {
    const std::int64_t factor = std::abs(t.coefficient);
    std::string term = name(t.index);
    if (wide && type_of_index(t.index) == "int")
      term += fmt::format("*{}LL", factor);
    else if (factor != 1)
      term += fmt::format("*{}", factor);
    out += out.empty() ? (t.coefficient < 0 ? "-" : "") : (t.coefficient < 0 ? " - " : " + ");
    out += term;
  }
  if (out.empty()) return fmt::format("{}", a.constant);
  if (a.constant != 0) out += fmt::format(" {} {}", a.constant < 0 ? '-' : '+', std::abs(a.constant));
  return out;
}

std::string Formulas::piece(const lower::Access& a) const {
  const lower::Buffer& b = kernel_.buffers[static_cast<std::size_t>(a.buffer)];
  if (b.swizzled_row == 0) return element(a);
  const std::string& name = names_.buffers[static_cast<std::size_t>(a.buffer)];
  return fmt::format("{}[swizzled<{}, {}>({})]", name, type_of(b.dtype), b.swizzled_row, affine(a.offset));
}

std::string Formulas::element(const lower::Access& a) const {
  return fmt::format("{}[{}]", names_.buffers[static_cast<std::size_t>(a.buffer)], affine(a.offset));
}

std::string Formulas::source(const lower::Copy& c) const {
  if (!c.gather) return piece(c.from);
  const lower::Gather& g = *c.gather;
  Affine all = c.from.offset;
  all.constant += (g.extent - 1) * g.stride;
  const bool wide = needs_64_bits(all) || (g.extent - 1) * g.stride > kMaxInt;
  std::string index = element(g.index);
  if (wide || g.stride != 1) index += fmt::format("*{}{}", g.stride, wide ? "LL" : "");
  const std::string rest = affine(c.from.offset);
  return fmt::format("{}[{}{}]", names_.buffers[static_cast<std::size_t>(c.from.buffer)], index,
                     rest == "0" ? "" : " + " + rest);
}

std::string Formulas::least(const Affine& a, std::int64_t number) const {
  const std::string value = affine(a);
  return lower::range_of(kernel_, a).high <= number ? value : fmt::format("({0} < {1} ? {0} : {1})", value, number);
}

std::string Formulas::greatest(const Affine& a, std::int64_t number) const {
  const std::string value = affine(a);
  return lower::range_of(kernel_, a).low >= number ? value : fmt::format("({0} > {1} ? {0} : {1})", value, number);
}

std::vector<std::string> Formulas::conditions(const std::vector<lower::Guard>& guards) const {
  std::vector<std::string> out;
  for (const lower::Guard& g : guards) {
    const expr::Span s = lower::range_of(kernel_, g.value);
    if (s.low < 0) out.push_back("0 <= " + affine(g.value));
    if (s.high >= g.bound) out.push_back(fmt::format("{} < {}", affine(g.value), g.bound));
  }
  return out;
}

std::string Formulas::quotient(const lower::Index& i) const {
  std::string sum = affine(i.of);
  if (i.divisor == 1 && i.modulus == 0) return sum;
  const bool floors = lower::range_of(kernel_, i.of).low < 0;
  const std::string_view wide = needs_64_bits(i.of) ? "LL" : "";
  // A single index binds as tightly as the division does; anything else is put in parentheses.
  const bool plain = i.of.terms.size() == 1 && i.of.terms[0].coefficient == 1 && i.of.constant == 0 && wide.empty();
  std::string out = plain || floors ? sum : "(" + sum + ")";
  if (i.divisor != 1)
    out = floors ? fmt::format("floor_div({}, {}{})", out, i.divisor, wide) : fmt::format("{} / {}", out, i.divisor);
  if (i.modulus != 0)
    out = floors ? fmt::format("floor_mod({}, {}{})", out, i.modulus, wide) : fmt::format("{} % {}", out, i.modulus);
  return out;
}

std::string Formulas::definition(int i) const {
  switch (index(i).kind) {
    case lower::IndexKind::kBlock:
      return fmt::format("const {} {} = blockIdx.x;", type_of_index(i), name(i));
    case lower::IndexKind::kThread:
      return fmt::format("const {} {} = threadIdx.x;", type_of_index(i), name(i));
    default:
      return fmt::format("const {} {} = {};", type_of_index(i), name(i), quotient(index(i)));
  }
}

}  // namespace tilescope::cuda
