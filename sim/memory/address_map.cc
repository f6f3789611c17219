#include "sim/memory/address_map.h"

#include "sim/memory/sector_cache.h"

namespace tilescope::sim {
namespace {

// Which of `n` a run begins with.
std::int64_t turn_of(std::int64_t run, std::int64_t n) {
  return static_cast<std::int64_t>(mixed(run) % static_cast<std::uint64_t>(n));
}

}  // namespace

std::int64_t AddressMap::slice(std::int64_t line) const {
  return (line + turn_of(line / spec_.slices, spec_.slices)) % spec_.slices;
}

std::int64_t AddressMap::line_of(std::int64_t slice, std::int64_t in_slice) const {
  const std::int64_t n = spec_.slices;
  const std::int64_t turn = turn_of(in_slice, n);
  // slice(line) = (line + turn) mod n, line = in_slice * n + rest.
  return in_slice * n + ((slice - turn - in_slice * n) % n + n) % n;
}

// A slice's misses go to its own channel or channels where the numbers divide; else channels are dealt out likewise.
DramPlace AddressMap::dram(std::int64_t line) const {
  const std::int64_t channels = spec_.channels, slices = spec_.slices;
  std::int64_t channel = 0, local = in_slice(line);
  if (channels % slices == 0) {
    const std::int64_t per = channels / slices;
    channel = slice(line) * per + local % per;
    local /= per;
  } else if (slices % channels == 0) {
    const std::int64_t per = slices / channels;
    channel = slice(line) / per;
    local = local * per + slice(line) % per;
  } else {
    local = line / channels;
    channel = (line + turn_of(local, channels)) % channels;
  }
  const std::int64_t row_of_banks = local / spec_.lines_per_row;
  const std::int64_t row = row_of_banks / spec_.banks;
  return {channel, (row_of_banks + turn_of(row, spec_.banks)) % spec_.banks, row};
}

}  // namespace tilescope::sim
