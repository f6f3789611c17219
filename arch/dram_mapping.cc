// SPDX-License-Identifier: Apache-2.0
#include "arch/dram_mapping.h"

#include <algorithm>
#include <bit>
#include <sstream>

#include <fmt/format.h>

#include "arch/derive.h"
#include "base/parse_number.h"

namespace tilescope::arch {
namespace {

constexpr int kMaxBits = 62;
constexpr std::array<std::string_view, kDramParts> kNames = {"off", "co", "ch", "pc", "ra", "bg", "ba", "ro"};
constexpr std::array<std::string_view, kDramParts> kMeanings = {
    "bytes of a burst", "bursts of a row",  "channels", "pseudo-channels", "ranks",
    "bank groups",      "banks of a group", "rows"};

std::string_view name_of(DramPart p) { return kNames[static_cast<std::size_t>(p)]; }

std::optional<int> number(std::string_view text) {
  const auto n = base::parse_integer<int>(text);
  return n && *n >= 0 && *n <= kMaxBits ? n : std::nullopt;
}

// name[low+width], name^[low+width] or name^onto[low+width]
std::optional<MappingField> field_of(std::string_view text) {
  const std::size_t open = text.find('['), plus = text.find('+');
  if (open == std::string_view::npos || plus == std::string_view::npos || plus < open || text.back() != ']')
    return std::nullopt;
  std::string_view name = text.substr(0, open);
  MappingField f;
  if (const std::size_t fold = name.find('^'); fold != std::string_view::npos) {
    const std::string_view onto = name.substr(fold + 1);
    const auto bit = onto.empty() ? std::optional(0) : number(onto);
    if (!bit) return std::nullopt;
    f.folded = true;
    f.onto = *bit;
    name = name.substr(0, fold);
  }
  const auto known = std::find(kNames.begin(), kNames.end(), name);
  const auto low = number(text.substr(open + 1, plus - open - 1));
  const auto width = number(text.substr(plus + 1, text.size() - plus - 2));
  if (known == kNames.end() || !low || !width || *low + *width > kMaxBits) return std::nullopt;
  f.part = static_cast<DramPart>(known - kNames.begin());
  f.low = *low;
  f.width = *width;
  return f;
}

// Every bit up to the highest belongs to one field.
std::string uncovered(const DramMapping& m) {
  std::array<const MappingField*, kMaxBits> owner{};
  int top = 0;
  for (const MappingField& f : m.fields) {
    if (f.folded) continue;
    for (int bit = f.low; bit < f.low + f.width; ++bit) {
      const MappingField*& o = owner[static_cast<std::size_t>(bit)];
      if (o != nullptr) return fmt::format("bit {} belongs to {} and to {}", bit, name_of(o->part), name_of(f.part));
      o = &f;
    }
    top = std::max(top, f.low + f.width);
  }
  for (int bit = 0; bit < top; ++bit)
    if (owner[static_cast<std::size_t>(bit)] == nullptr) return fmt::format("bit {} belongs to nothing", bit);
  return {};
}

std::string misfit(const DramMapping& m, const DramLevel& l) {
  const std::int64_t burst = transaction_of(l).n, groups = l.bank_groups.value_or(1);
  const std::array<std::optional<std::int64_t>, kDramParts> counts = {
      burst,
      l.row ? std::optional(l.row->n / burst) : std::nullopt,
      l.channels / l.pseudo_channels,
      l.pseudo_channels,
      l.ranks,
      groups,
      l.banks / groups,
      std::nullopt};
  for (std::size_t p = 0; p < kDramParts; ++p) {
    const int width = m.width_of(static_cast<DramPart>(p));
    if (counts[p] && std::int64_t{1} << width != *counts[p])
      return fmt::format("{} has {} bits for {} {}", kNames[p], width, *counts[p], kMeanings[p]);
  }
  const int bits = m.bits();
  if (l.capacity.n > std::int64_t{1} << bits)
    return fmt::format("bit {} belongs to nothing, for the capacity of {} B takes {} bits", bits, l.capacity.n,
                       std::bit_width(static_cast<std::uint64_t>(l.capacity.n - 1)));
  if (bits > 0 && l.capacity.n > 0 && l.capacity.n <= std::int64_t{1} << (bits - 1))
    return fmt::format("ro has rows beyond the capacity of {} B: expected {} address bits in all, got {}", l.capacity.n,
                       std::bit_width(static_cast<std::uint64_t>(l.capacity.n - 1)), bits);
  for (const MappingField& f : m.fields)
    if (f.folded && f.onto + f.width > m.width_of(f.part))
      return fmt::format("{} bits are folded into the {} of {}{}", f.width, m.width_of(f.part), name_of(f.part),
                         f.onto > 0 ? fmt::format(" from bit {} on", f.onto) : "");
  return {};
}

// As a file writes a folded field.
std::string text_of(const MappingField& f) {
  return fmt::format("{}^{}[{}+{}]", name_of(f.part), f.onto > 0 ? fmt::format("{}", f.onto) : "", f.low, f.width);
}

// Why a fold changes no burst's place; empty where each does.
std::string idle_fold(const DramMapping& m) {
  const int bits = m.bits(), burst = m.width_of(DramPart::kOffset);
  for (const MappingField& f : m.fields) {
    if (!f.folded) continue;
    if (f.width == 0) return fmt::format("{} folds nothing: expected a width of 1 or more", text_of(f));
    if (f.part == DramPart::kOffset)
      return fmt::format("{} folds nothing: expected a part that chooses a place, not the {}", text_of(f),
                         kMeanings[static_cast<std::size_t>(f.part)]);
    if (f.low < burst || f.low + f.width > bits)
      return fmt::format("bit {} of {} folds nothing: expected bits {} to {}, above the bytes of a burst",
                         f.low < burst ? f.low : std::max(f.low, bits), text_of(f), burst, bits - 1);
    for (const MappingField& before : m.fields) {
      if (&before == &f) break;
      if (!before.folded || before.part != f.part || before.low - before.onto != f.low - f.onto) continue;
      if (before.low < f.low + f.width && f.low < before.low + before.width)
        return fmt::format("{} and {} fold bit {} into the same bit of {}, twice, which is nothing: expected it once",
                           text_of(before), text_of(f), std::max(before.low, f.low), name_of(f.part));
    }
  }
  return {};
}

// A linear map over bits: eliminated row by row, what is left of a bit must not be nothing.
std::string merged(const DramMapping& m) {
  std::vector<std::uint64_t>
      rows;  // the address bits whose exclusive or is one bit of a place, each with a leading one
  const auto reduce = [&](std::uint64_t row) {
    for (const std::uint64_t r : rows) row = std::min(row, row ^ r);
    return row;
  };
  for (std::size_t p = 0; p < kDramParts; ++p) {
    const auto part = static_cast<DramPart>(p);
    int bit = 0;
    for (const MappingField& own : m.fields) {
      if (own.part != part || own.folded) continue;
      for (int b = own.low; b < own.low + own.width; ++b, ++bit) {
        std::uint64_t row = std::uint64_t{1} << b;
        for (const MappingField& f : m.fields)
          if (f.part == part && f.folded && bit >= f.onto && bit < f.onto + f.width)
            row ^= std::uint64_t{1} << (f.low + bit - f.onto);
        row = reduce(row);
        if (row == 0)
          return fmt::format("what is folded makes the bit of {} at {} that of others, so that addresses share a place",
                             name_of(part), b);
        rows.push_back(row);
        std::sort(rows.rbegin(), rows.rend());
      }
    }
  }
  return {};
}

}  // namespace

int DramMapping::bits() const {
  int bits = 0;
  for (const MappingField& f : fields)
    if (!f.folded) bits += f.width;
  return bits;
}

int DramMapping::width_of(DramPart p) const {
  int width = 0;
  for (const MappingField& f : fields)
    if (f.part == p && !f.folded) width += f.width;
  return width;
}

std::int64_t DramMapping::bytes_together() const {
  int lowest = bits();
  for (const MappingField& f : fields)
    if (f.width > 0 && f.part != DramPart::kOffset && f.part != DramPart::kColumn) lowest = std::min(lowest, f.low);
  return std::int64_t{1} << lowest;
}

std::int64_t DramMapping::value(DramPart p, std::int64_t address) const {
  std::int64_t value = 0, folded = 0;
  int width = 0;
  for (const MappingField& f : fields) {
    if (f.part != p) continue;
    const std::int64_t bits = (address >> f.low) & ((std::int64_t{1} << f.width) - 1);
    if (f.folded) {
      folded ^= bits << f.onto;
    } else {
      value |= bits << width;
      width += f.width;
    }
  }
  return value ^ folded;
}

std::optional<DramMapping> mapping_of(const DramLevel& dram, base::Diagnostics& diags) {
  DramMapping m;
  std::istringstream words(dram.mapping.value_or(""));
  for (std::string word; words >> word;) {
    const auto f = field_of(word);
    if (!f) {
      diags.error(
          {}, fmt::format(
                  "'{}' is no field such as co[5+7]: off, co, ch, pc, ra, bg, ba or ro, its lowest bit and its width",
                  word));
      return std::nullopt;
    }
    m.fields.push_back(*f);
  }
  std::string wrong = uncovered(m);
  if (wrong.empty()) wrong = misfit(m, dram);
  if (wrong.empty()) wrong = idle_fold(m);
  if (wrong.empty()) wrong = merged(m);
  if (wrong.empty()) return m;
  diags.error({}, std::move(wrong));
  return std::nullopt;
}

}  // namespace tilescope::arch
