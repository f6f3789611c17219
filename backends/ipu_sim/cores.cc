// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/detail/cores.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/integer.h"

namespace tilescope::ipu_sim {

// Channels are empty for the most part: pages of about so many bytes are made when anything of them is touched.
constexpr std::int64_t kPageOfChannel = 1 << 16;

Cores::Cores(std::int64_t count, std::int64_t bytes, const lower::bsp::Dram& dram) : count_(count) {
  cores_.reserve(static_cast<std::size_t>(count + dram.channels));
  for (std::int64_t c = 0; c < count; ++c) cores_.emplace_back(bytes);
  const std::int64_t run = dram.channels * dram.interleave;
  // A piece lies in one page.
  const std::int64_t page = dram.interleave * std::max<std::int64_t>(1, kPageOfChannel / dram.interleave);
  for (std::int64_t c = 0; c < dram.channels; ++c)
    cores_.emplace_back(base::ceil_div(dram.bytes, run) * dram.interleave, page);
}

void Cores::fault(std::int64_t core, const std::string& tensor, const std::string& what) const {
  const std::string memory =
      core < count_ ? fmt::format("core {}", core) : fmt::format("dram, channel {}", core - count_);
  throw Fault(fmt::format("{}, superstep {}: {}: {}", memory, step_, tensor, what));
}

void Cores::check_inside(std::int64_t core, std::int64_t address, std::int64_t bytes, const std::string& tensor) const {
  if (!of(core).has(address, bytes)) fault(core, tensor, fmt::format("address {} is outside its memory", address));
}

void Cores::check_written(std::int64_t core, std::int64_t address, std::int64_t bytes,
                          const std::string& tensor) const {
  if (const auto byte = of(core).first_unwritten(address, bytes))
    fault(core, tensor, fmt::format("address {} is read and was never written", *byte));
}

const std::byte* Cores::read(std::int64_t core, std::int64_t address, std::int64_t bytes, const std::string& tensor) {
  check_inside(core, address, bytes, tensor);
  check_written(core, address, bytes, tensor);
  return of(core).view(address, bytes);
}

const std::byte* Cores::find(std::int64_t core, std::int64_t address, std::int64_t bytes, const std::string& tensor) {
  check_inside(core, address, bytes, tensor);
  return of(core).first_unwritten(address, bytes) ? nullptr : of(core).view(address, bytes);
}

void Cores::write(std::int64_t core, std::int64_t address, const std::byte* from, std::int64_t bytes,
                  const std::string& tensor) {
  check_inside(core, address, bytes, tensor);
  of(core).write(address, from, bytes);
}

void Cores::send(std::int64_t core, std::int64_t address, std::int64_t bytes, const std::string& tensor) {
  check_inside(core, address, bytes, tensor);
  check_written(core, address, bytes, tensor);
  of(core).send(address, bytes, exchange_);
}

void Cores::receive(std::int64_t core, std::int64_t address, std::int64_t bytes, const std::string& tensor) {
  check_inside(core, address, bytes, tensor);
  if (const auto byte = of(core).receive(address, bytes, exchange_))
    fault(core, tensor, fmt::format("two writers of address {} in one exchange", *byte));
}

void Cores::copy(std::int64_t from, std::int64_t source, std::int64_t to, std::int64_t address, std::int64_t bytes,
                 const std::string& tensor) {
  if (const auto byte = of(to).first_sent(address, bytes, exchange_))
    fault(to, tensor, fmt::format("address {} is read by the exchange that writes it", *byte));
  of(to).copy(address, of(from), source, bytes);
}

std::int64_t Cores::used() const {
  std::int64_t most = 0;
  for (std::int64_t c = 0; c < count_; ++c) most = std::max(most, of(c).end());
  return most;
}

}  // namespace tilescope::ipu_sim
