// SPDX-License-Identifier: Apache-2.0
#pragma once
// What payloads ask of Tilescope's targets: what cannot be asked, and when they are answered.

#include <cstdint>
#include <optional>
#include <tlm>

#include "sim/common/ticks.h"

namespace tilescope::systemc {

inline constexpr std::uint64_t kMaxAddress = std::uint64_t{1} << 52;  // up to which an address's place is exact
inline constexpr std::uint32_t kMaxBytes = std::uint32_t{1} << 30;

// The response to what cannot be asked.
inline std::optional<tlm::tlm_response_status> refused(std::uint64_t address, std::uint32_t bytes) {
  if (bytes == 0 || bytes > kMaxBytes) return tlm::TLM_BURST_ERROR_RESPONSE;
  if (address > kMaxAddress) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  return std::nullopt;
}
// Likewise, or to what asks for nothing.
inline std::optional<tlm::tlm_response_status> refused(const tlm::tlm_generic_payload& p) {
  if (p.get_command() == tlm::TLM_IGNORE_COMMAND) return tlm::TLM_OK_RESPONSE;
  return refused(p.get_address(), p.get_data_length());
}

// When a payload is answered; of one time, what was asked first.
template <class Tick>
struct Response {
  Tick at{};  // of the target's clock
  std::uint64_t number = 0;
  tlm::tlm_generic_payload* payload = nullptr;
  bool operator>(const Response& o) const { return at != o.at ? at > o.at : number > o.number; }
};

}  // namespace tilescope::systemc
