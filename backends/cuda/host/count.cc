// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/count.h"

#include <algorithm>

namespace tilescope::cuda::host {
namespace {

std::int64_t distinct(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  return std::unique(values.begin(), values.end()) - values.begin();
}

// Appends the numbers of all pieces of `size` bytes that an access touches.
void add_pieces(std::int64_t address, std::int64_t bytes, std::int64_t size, std::vector<std::int64_t>& out) {
  for (std::int64_t piece = address / size; piece <= (address + bytes - 1) / size; ++piece) out.push_back(piece);
}

// The most distinct words of one bank.
std::int64_t passes_of_group(std::vector<std::int64_t>& words, std::int64_t banks) {
  const std::int64_t count = distinct(words);
  std::vector<std::int64_t> in_bank(static_cast<std::size_t>(banks), 0);
  std::int64_t most = 0;
  for (std::int64_t w = 0; w < count; ++w)
    most = std::max(most, ++in_bank[static_cast<std::size_t>(words[static_cast<std::size_t>(w)] % banks)]);
  return most;
}

}  // namespace

std::int64_t sectors_of(const WarpRequest& r, std::int64_t sector_bytes) {
  std::vector<std::int64_t> sectors;
  for (const std::int64_t address : r.addresses)
    if (address != kNoAddress) add_pieces(address, r.bytes, sector_bytes, sectors);
  return distinct(sectors);
}

std::int64_t passes_of(const WarpRequest& r, std::int64_t banks, std::int64_t bank_bytes) {
  const std::int64_t group = std::max<std::int64_t>(1, banks * bank_bytes / r.bytes);
  const auto lanes = static_cast<std::int64_t>(r.addresses.size());
  std::int64_t passes = 0;
  std::vector<std::int64_t> words;
  for (std::int64_t first = 0; first < lanes; first += group) {
    words.clear();
    for (std::int64_t lane = first; lane < std::min(first + group, lanes); ++lane)
      if (const std::int64_t address = r.addresses[static_cast<std::size_t>(lane)]; address != kNoAddress)
        add_pieces(address, r.bytes, bank_bytes, words);
    passes += passes_of_group(words, banks);
  }
  return passes;
}

void Side::begin_block(std::int64_t threads) { addresses_.resize(static_cast<std::size_t>(threads)); }

void Side::add(int thread, std::int64_t address, std::int64_t bytes) {
  addresses_[static_cast<std::size_t>(thread)].push_back(address);
  if (address != kNoAddress) bytes_ = bytes;
}

bool Side::agree(const Rules& rules, bool specialized) const {
  for (std::size_t t = 0; t < addresses_.size(); ++t) {
    const std::size_t like = specialized ? t - t % static_cast<std::size_t>(rules.warp) : 0;
    if (addresses_[t].size() != addresses_[like].size()) return false;
  }
  return true;
}

bool Side::flush(const Rules& rules, bool specialized) {
  if (!agree(rules, specialized)) return false;
  const auto warp = static_cast<std::size_t>(rules.warp);
  for (std::size_t first = 0; first < addresses_.size(); first += warp)
    flush_warp(first, std::min(first + warp, addresses_.size()), rules);
  for (auto& a : addresses_) a.clear();
  return true;
}

void Side::flush_warp(std::size_t first, std::size_t last, const Rules& rules) {
  request_.bytes = bytes_;
  for (std::size_t n = 0; n < addresses_[first].size(); ++n) {
    request_.addresses.clear();
    std::int64_t active = 0;
    for (std::size_t thread = first; thread < last; ++thread) {
      request_.addresses.push_back(addresses_[thread][n]);
      active += addresses_[thread][n] == kNoAddress ? 0 : 1;
    }
    if (active == 0) continue;
    count_.requests += 1;
    count_.lane_accesses += active;
    count_.bytes += active * bytes_;
    if (shared_)
      count_.passes += passes_of(request_, rules.banks, rules.bank_bytes);
    else
      count_.sectors += sectors_of(request_, rules.sector_bytes);
  }
}

}  // namespace tilescope::cuda::host
