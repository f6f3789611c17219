// SPDX-License-Identifier: Apache-2.0
#include "model/simt/access_pattern.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/divisor.h"
#include "base/integer.h"
#include "model/simt/warp_access.h"

namespace tilescope::model {

void AccessPattern::add(std::int64_t times, std::int64_t apart) {
  if (in_loops_ >= lanes_ || times == 1) return;
  times = std::min(times, base::ceil_div(lanes_, in_loops_));
  in_loops_ *= times;
  if (!loops_.empty() && apart == loops_.back().times * loops_.back().apart)
    loops_.back().times *= times;
  else
    loops_.push_back({times, apart});
}

WarpAccess AccessPattern::addresses() const {
  WarpAccess out;
  out.bytes = bytes_;
  if (listed_.empty())
    spread(out);
  else
    out.offset = listed_;
  if (turn_.by == 0) return out;
  for (std::int64_t& offset : out.offset) {
    const std::int64_t row = offset / turn_.pitch, column = offset % turn_.pitch;
    offset = row * turn_.pitch + (column + row * turn_.by) % turn_.length;
  }
  return out;
}

void AccessPattern::spread(WarpAccess& out) const {
  base::check(in_loops_ >= lanes_, "every lane lies somewhere");
  out.offset.assign(static_cast<std::size_t>(lanes_), first_);
  std::int64_t filled = 1;
  for (const LaneLoop& loop : loops_) {
    const std::int64_t faster = filled;
    for (std::int64_t t = 1; t < loop.times && filled < lanes_; ++t) {
      const std::int64_t n = std::min(faster, lanes_ - filled);
      std::int64_t* to = out.offset.begin() + filled;
      for (std::int64_t k = 0; k < n; ++k) to[k] = out.offset[static_cast<std::size_t>(k)] + t * loop.apart;
      filled += n;
    }
  }
}

void AccessPattern::turn_rows(const RowTurn& turn) {
  std::int64_t last = first_;
  for (const LaneLoop& l : loops_) last += (l.times - 1) * std::max<std::int64_t>(0, l.apart);
  if (last >= turn.pitch || !listed_.empty()) turn_ = turn;
}

namespace {

using base::Divisor;

// Loops from near to far, and where the lowest lane begins: a loop that runs backwards covers the same from its other
// end, and the order of loops does not matter to what is covered.
struct Covered {
  Covered(const LaneLoops& of, std::int64_t begin) : loops(of), first(begin) {
    for (LaneLoop& l : loops) {
      if (l.apart >= 0) continue;
      first += (l.times - 1) * l.apart;
      l.apart = -l.apart;
    }
    for (std::size_t i = 1; i < loops.size(); ++i)
      for (std::size_t k = i; k > 0 && loops[k].apart < loops[k - 1].apart; --k) std::swap(loops[k], loops[k - 1]);
  }
  // Loops that leave no gap of a unit between their turns are one run with what they repeat. Returns its length, and
  // keeps the other loops.
  std::int64_t join(std::int64_t length, std::int64_t unit) {
    std::size_t joined = 0;
    for (; joined < loops.size() && loops[joined].apart <= std::max(length, unit); ++joined)
      length += (loops[joined].times - 1) * loops[joined].apart;
    std::copy(loops.begin() + joined, loops.end(), loops.begin());
    loops.resize(loops.size() - joined);
    return length;
  }

  LaneLoops loops;
  std::int64_t first;
};

// Of lanes that leave no gap of a unit between them, in any order of their loops, none of which runs backwards.
std::optional<std::int64_t> length_without_gaps(const AccessPattern& access, std::int64_t unit) {
  std::int64_t length = access.bytes();
  for (const LaneLoop& l : access.loops()) {
    if (l.apart < 0 || l.apart > std::max(length, unit)) return std::nullopt;
    length += (l.times - 1) * l.apart;
  }
  return length;
}

// Of `n` runs of `length` different neighbouring words, `apart` words from one to the next: the most that any one bank
// gives; nothing where it has to be counted.
std::optional<std::int64_t> worst_of_runs(std::int64_t length, std::int64_t n, std::int64_t apart, std::int64_t banks) {
  const std::int64_t rounds = n * (length / banks), rest = length % banks;
  if (rest == 0) return rounds;
  // Runs begin at every bank of a multiple of `step`, one after the other, before the first one comes again. A bank has
  // a word of those that begin at one of the last few such banks before it.
  const std::int64_t step = std::gcd(apart % banks, banks), begins = banks / step;
  const std::int64_t all = n / begins, left = n % begins, reached = base::ceil_div(rest, step);
  if (left <= 1 || reached == 1) return rounds + all * reached + std::min<std::int64_t>(left, 1);
  const std::int64_t turn = apart % banks / step;
  if (turn == 1 || turn == begins - 1 || reached == begins) return rounds + all * reached + std::min(left, reached);
  return std::nullopt;
}

// The number that times `a` leaves one when divided by `n`; these have no common divisor.
std::int64_t inverse_of(std::int64_t a, std::int64_t n) {
  std::int64_t r = n, s = a % n, x = 0, y = 1;
  while (s != 0) {
    const std::int64_t q = r / s;
    r = std::exchange(s, r - q * s);
    x = std::exchange(y, x - q * y);
  }
  return ((x % n) + n) % n;
}

// The same of runs in two loops, all of whose words differ.
std::optional<std::int64_t> worst_of_two_loops(std::int64_t length, LaneLoop a, LaneLoop b, std::int64_t banks) {
  for (const auto& [in, out] : {std::pair{a, b}, std::pair{b, a}}) {
    // One loop serves all banks that it can reach alike.
    const std::int64_t step = std::gcd(in.apart, banks), turns = banks / step;
    if (length > step || in.times % turns != 0) continue;
    if (const auto worst = worst_of_runs(length, out.times, out.apart, step)) return *worst * (in.times / turns);
  }
  if (length != 1) return std::nullopt;
  const std::int64_t common = std::gcd(std::gcd(a.apart, b.apart), banks);
  banks /= common;
  for (const auto& [in, out] : {std::pair{a, b}, std::pair{b, a}}) {
    // Banks in the order in which one loop reaches them: it is a run of neighbours.
    const std::int64_t first = in.apart / common % banks, second = out.apart / common % banks;
    if (std::gcd(first, banks) != 1) continue;
    if (const auto worst = worst_of_runs(in.times, out.times, second * inverse_of(first, banks), banks)) return worst;
  }
  return std::nullopt;
}

struct GroupUse {
  std::int64_t passes = 0, words = 0;
};

// Of lanes that are served together.
std::optional<GroupUse> use_of_group(const LaneLoops& lanes, std::int64_t first, std::int64_t bytes, std::int64_t banks,
                                     const Divisor& width) {
  Covered in(lanes, first);
  const std::int64_t run = in.join(bytes, width.value());
  for (LaneLoop& l : in.loops) {
    if (width.rest(l.apart) != 0) return std::nullopt;  // runs of several numbers of words
    l.apart = width.quotient(l.apart);
  }
  std::int64_t words = in.join(width.quotient(width.rest(in.first) + run - 1) + 1, 1), scale = 1;
  // Banks under one run that are asked alike count as one.
  const auto divides = [&](const LaneLoop& l) { return l.apart % words == 0; };
  if (words > 1 && banks % words == 0 && std::all_of(in.loops.begin(), in.loops.end(), divides)) {
    banks /= words;
    for (LaneLoop& l : in.loops) l.apart /= words;
    scale = std::exchange(words, 1);
  }
  if (in.loops.size() == 2) {
    const LaneLoop near = in.loops[0], far = in.loops[1];
    if (far.apart % near.apart == 0 && far.apart / near.apart <= near.times)  // goes on where the near one is, or ends
      in.loops = {{near.times + (far.times - 1) * (far.apart / near.apart), near.apart}};
    else if (far.apart < (near.times - 1) * near.apart + words)
      return std::nullopt;
  }
  if (in.loops.empty()) return GroupUse{base::ceil_div(words, banks), words * scale};
  const LaneLoop near = in.loops[0];
  if (in.loops.size() == 1) {
    const auto worst = worst_of_runs(words, near.times, near.apart, banks);
    return worst ? std::optional(GroupUse{*worst, words * near.times * scale}) : std::nullopt;
  }
  if (in.loops.size() > 2) return std::nullopt;
  const auto worst = worst_of_two_loops(words, near, in.loops[1], banks);
  return worst ? std::optional(GroupUse{*worst, words * near.times * in.loops[1].times * scale}) : std::nullopt;
}

}  // namespace

std::optional<BankUse> bank_use_of_strides(const AccessPattern& access, std::int64_t banks, std::int64_t bank_width,
                                           std::int64_t together) {
  if (!access.in_strides()) return std::nullopt;
  const Divisor width(bank_width);
  const std::int64_t group = std::max<std::int64_t>(1, together * (banks * bank_width / access.bytes()));
  // The loops inside a group, and how many groups they and what is left of the last loop make.
  LaneLoops inside;
  std::int64_t lanes = 1, whole = 1, left = 0, left_apart = 0;
  for (const LaneLoop& l : access.loops()) {
    if (lanes * l.times <= group && whole == 1) {
      inside.push_back(l);
      lanes *= l.times;
      continue;
    }
    // It ends a group, and begins others; all must be alike.
    if (left > 0) return std::nullopt;
    if (lanes == group) {
      if (width.rest(l.apart) != 0) return std::nullopt;
      whole *= l.times;
      continue;
    }
    if (group % lanes != 0) return std::nullopt;
    const std::int64_t times = group / lanes;
    if (width.rest(times * l.apart) != 0) return std::nullopt;
    inside.push_back({times, l.apart});
    whole = l.times / times;
    left = l.times % times;
    left_apart = l.apart;
    lanes = group;
  }
  const auto full = use_of_group(inside, access.first(), access.bytes(), banks, width);
  if (!full) return std::nullopt;
  BankUse use{whole * full->passes, whole, whole * full->words};
  if (left == 0) return use;
  inside.back() = {left, left_apart};
  const auto last = use_of_group(inside, access.first(), access.bytes(), banks, width);
  if (!last) return std::nullopt;
  return BankUse{use.passes + last->passes, use.groups + 1, use.words + last->words};
}

BankUse bank_use(const AccessPattern& access, std::int64_t banks, std::int64_t bank_width, std::int64_t together) {
  if (const auto use = bank_use_of_strides(access, banks, bank_width, together)) return *use;
  return bank_use(access.addresses(), banks, bank_width, together);
}

std::optional<std::int64_t> granules_of_strides(const AccessPattern& access, std::int64_t granule) {
  if (!access.in_strides()) return std::nullopt;
  const Divisor size(granule);
  if (const auto length = length_without_gaps(access, granule))
    return size.quotient(size.rest(access.first()) + *length - 1) + 1;
  Covered in(access.loops(), access.first());
  const std::int64_t run = in.join(access.bytes(), granule), from = size.rest(in.first);
  // Loops around one another, each of whose turns begins behind the end of the one before it.
  std::int64_t reach = run;
  for (const LaneLoop& l : in.loops) {
    if (l.apart < reach) return std::nullopt;
    reach += (l.times - 1) * l.apart;
  }
  std::int64_t alike = 1, end = run;  // turns of loops that begin alike within a granule, and share none
  std::size_t slow = in.loops.size();
  for (const LaneLoop& l : in.loops) end += (l.times - 1) * l.apart;
  for (; slow > 0; --slow) {
    const LaneLoop& l = in.loops[slow - 1];
    end -= (l.times - 1) * l.apart;
    if (size.rest(l.apart) != 0 || l.apart < size.quotient(from + end - 1) * granule + granule) break;
    alike *= l.times;
  }
  // The others' turns one by one, in order.
  std::int64_t n = 0, counted = std::numeric_limits<std::int64_t>::min(), at = from;
  base::FixedVector<std::int64_t, LaneLoops::static_capacity> turn(slow, 0);
  for (std::size_t l = 0; l <= slow;) {
    const std::int64_t begin = std::max(size.quotient(at), counted), behind = size.quotient(at + run - 1) + 1;
    n += std::max<std::int64_t>(0, behind - begin);
    counted = behind;
    for (l = 0; l < slow; ++l) {
      if (++turn[l] < in.loops[l].times) {
        at += in.loops[l].apart;
        break;
      }
      at -= (in.loops[l].times - 1) * in.loops[l].apart;
      turn[l] = 0;
    }
    if (l == slow) break;
  }
  return n * alike;
}

std::int64_t granules_touched(const AccessPattern& access, std::int64_t granule) {
  const auto granules = granules_of_strides(access, granule);
  return granules ? *granules : granules_touched(access.addresses(), granule);
}

}  // namespace tilescope::model
