// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/address_map.h"

#include <algorithm>

#include "arch/derive.h"
#include "base/check.h"

namespace tilescope::sim {

MappedPlaces::MappedPlaces(const arch::DramLevel& dram, std::int64_t bytes_of_line)
    : spec(dram_spec(dram)), line_bytes(bytes_of_line) {
  base::Diagnostics diags;
  const auto read = arch::mapping_of(dram, diags);
  base::check(read.has_value(), "the loader has read the mapping");
  mapping = *read;
}

DramPlace MappedPlaces::of(std::int64_t line) const {
  using enum arch::DramPart;
  const std::int64_t address = line * line_bytes;
  const std::int64_t group = mapping.value(kRank, address) * spec.groups + mapping.value(kGroup, address);
  return {mapping.value(kChannel, address) * spec.pseudo_channels + mapping.value(kPseudoChannel, address),
          group * (spec.banks / spec.groups) + mapping.value(kBank, address), mapping.value(kRow, address)};
}

AddressMapSpec address_map_of(const arch::Hierarchy& chip, std::int64_t& line_bytes) {
  const arch::DramLevel& dram = *chip.dram;
  const arch::CacheLevel* cache = chip.device_caches.empty() ? nullptr : chip.device_caches.back();
  const DramSpec spec = dram_spec(dram);
  line_bytes = cache == nullptr ? arch::transaction_of(dram).n : cache->line.n;
  AddressMapSpec map;
  map.slices = cache == nullptr ? dram.channels : cache->slices;
  map.channels = dram.channels;
  map.banks = spec.ranks * spec.banks;
  if (dram.address_mapping == arch::AddressMapping::kRoBaRaBgCoCh) map.bank_groups = spec.ranks * spec.groups;
  if (dram.mapping) map.mapped = MappedPlaces(dram, line_bytes);
  map.lines_per_row = dram.row ? std::max<std::int64_t>(1, dram.row->n / line_bytes) : 1;
  return map;
}

AddressMap::AddressMap(const AddressMapSpec& spec)
    : slices_(spec.slices),
      channels_(spec.channels),
      banks_(spec.banks),
      lines_per_row_(spec.lines_per_row),
      bank_groups_(spec.bank_groups),
      banks_of_group_(spec.banks / spec.bank_groups),
      mapped_(spec.mapped) {
  if (spec.channels % spec.slices == 0) channels_per_slice_ = base::Divisor(spec.channels / spec.slices);
  if (spec.slices % spec.channels == 0) slices_per_channel_ = base::Divisor(spec.slices / spec.channels);
}

std::int64_t AddressMap::line_of(std::int64_t slice, std::int64_t in_slice) const {
  const std::int64_t n = slices_.value(), rest = slice - one_of(mixed(in_slice), n);
  return in_slice * n + (rest < 0 ? rest + n : rest);
}

// A slice's misses go to its own channel or channels where the numbers divide; else channels are dealt out likewise.
DramPlace AddressMap::dram(std::int64_t line) const {
  if (mapped_) return mapped_->of(line);
  const std::int64_t channels = channels_.value(), slices = slices_.value();
  std::int64_t channel = 0, local = in_slice(line);
  if (channels % slices == 0) {
    channel = slice(line) * channels_per_slice_.value() + turned(local, channels_per_slice_);
    local = channels_per_slice_.quotient(local);
  } else if (slices % channels == 0) {
    const std::int64_t own = slice(line);
    channel = slices_per_channel_.quotient(own);
    local = local * slices_per_channel_.value() + slices_per_channel_.rest(own);
  } else {
    channel = turned(line, channels_);
    local = channels_.quotient(line);
  }
  const std::int64_t rows = lines_per_row_.quotient(local);
  const std::int64_t bank = turned(rows, banks_);
  return {channel, bank % bank_groups_ * banks_of_group_ + bank / bank_groups_, banks_.quotient(rows)};
}

}  // namespace tilescope::sim
