// SPDX-License-Identifier: Apache-2.0
#include "platform/detail/chip.h"

#include <stdexcept>
#include <systemc>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/load.h"

namespace tilescope::systemc {

void refuse(const base::Diagnostics& diags) {
  throw std::runtime_error(fmt::format("{}", fmt::join(diags.formatted_errors(), "\n")));
}

arch::ArchSpec read_chip(const std::string& name_or_path, const std::vector<std::string>& overrides) {
  base::Diagnostics diags;
  std::vector<arch::Override> read;
  for (const std::string& o : overrides) {
    const std::size_t equals = o.find('=');
    if (equals == std::string::npos) diags.error({diags.add_source(o)}, "expected path=value");
    read.push_back({o.substr(0, equals), equals == std::string::npos ? "" : o.substr(equals + 1)});
  }
  if (!diags.ok()) refuse(diags);
  auto chip = arch::load_arch(name_or_path, read, diags, arch::Use::kLook);
  if (!chip) refuse(diags);
  return std::move(*chip);
}

std::vector<LevelReport> reports_of(const std::vector<sim::LevelReport>& levels) {
  std::vector<LevelReport> out;
  for (const sim::LevelReport& l : levels)
    out.push_back({l.name, l.amounts.read_bytes, l.amounts.written_bytes, l.amounts.requests, l.amounts.transactions,
                   l.amounts.hits});
  return out;
}

void refuse_unbound(const std::string& socket, const char* wants) {
  SC_REPORT_ERROR("/tilescope/unbound", fmt::format("socket '{}' is not bound: {}", socket, wants).c_str());
}

}  // namespace tilescope::systemc
