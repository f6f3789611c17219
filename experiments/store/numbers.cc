// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/detail/numbers.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "experiments/store/detail/corrupt_store.h"

namespace tilescope::experiments {
namespace {

constexpr std::size_t kBytes = 8, kOfALevel = 4;
static_assert(sizeof(double) == kBytes);

void pack(std::string& out, double v) {
  const auto bits = std::bit_cast<std::uint64_t>(v);
  for (std::size_t i = 0; i < kBytes; ++i) out.push_back(static_cast<char>(bits >> (8 * i)));
}

double unpack(std::string_view bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kBytes; ++i) bits |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  const auto v = std::bit_cast<double>(bits);
  if (!std::isfinite(v)) throw CorruptStore();
  return v;
}

}  // namespace

NumberNames names_of(const Prediction& p) {
  NumberNames out;
  for (const TermRow& t : p.terms) out.terms.push_back(t.name);
  for (const LevelRow& l : p.levels) out.levels.push_back(l.name);
  return out;
}

std::string pack_numbers(const Prediction& p) {
  std::string out;
  out.reserve(kBytes * (p.terms.size() + kOfALevel * p.levels.size()));
  for (const TermRow& t : p.terms) pack(out, t.us);
  for (const LevelRow& l : p.levels)
    for (const double v : {l.bytes, l.transactions, l.conflict_ratio, l.time_us}) pack(out, v);
  return out;
}

void unpack_numbers(Prediction& p, const NumberNames& names, std::string_view bytes) {
  if (bytes.size() != kBytes * (names.terms.size() + kOfALevel * names.levels.size())) throw CorruptStore();
  const auto next = [&] {
    const double v = unpack(bytes);
    bytes.remove_prefix(kBytes);
    return v;
  };
  p.terms.clear();
  p.levels.clear();
  for (const std::string& name : names.terms) p.terms.push_back({name, next()});
  for (const std::string& name : names.levels) {
    LevelRow& l = p.levels.emplace_back(LevelRow{name});
    for (double* v : {&l.bytes, &l.transactions, &l.conflict_ratio, &l.time_us}) *v = next();
  }
}

}  // namespace tilescope::experiments
