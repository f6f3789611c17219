// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arch/detail/checks.h"
#include "arch/detail/complaints.h"
#include "arch/hierarchy.h"
#include "arch/pipes.h"

namespace tilescope::arch {
namespace {

bool is_access(std::string_view instruction) {
  return instruction == kMemoryAccesses || instruction == kScratchpadAccesses;
}

bool is_other(std::string_view instruction) {
  return std::find(kOtherInstructions.begin(), kOtherInstructions.end(), instruction) != kOtherInstructions.end();
}

// What the pipe executes is there, once, and an access's pipe computes nothing: its instructions wait for memory.
void check_executes(const ArchSpec& a, const PipeSpec& pipe, Complaints& complaints) {
  const Path at = {"core", "pipes", pipe.name, "executes"};
  if (pipe.executes.empty()) complaints.add(at, "no instruction uses the pipe; expected at least one");
  std::vector<std::string_view> known(kOtherInstructions.begin(), kOtherInstructions.end());
  for (const ComputeSpec& c : a.compute) known.push_back(c.name);
  bool accesses = false, computes = false;
  for (auto name = pipe.executes.begin(); name != pipe.executes.end(); ++name) {
    (is_access(*name) ? accesses : computes) = true;
    if (std::find(known.begin(), known.end(), *name) == known.end())
      complaints.add(at, fmt::format("'{}' is no instruction of compute, nor {}{}", *name,
                                     fmt::join(kOtherInstructions, ", nor "), base::did_you_mean(*name, known)));
    if (std::find(pipe.executes.begin(), name, *name) != name)
      complaints.add(at, fmt::format("'{}' stands here twice", *name));
  }
  if (accesses && computes)
    complaints.add(
        at, fmt::format("a pipe of accesses executes nothing but {} and {}", kMemoryAccesses, kScratchpadAccesses));
}

// A rate of lanes is needed where no instruction's own rate says it, and read nowhere else.
void check_lanes(const std::vector<PipeSpec>& pipes, const PipeSpec& pipe, Complaints& complaints) {
  const auto is_shared = [&](const std::string& name) { return shares_of(pipes, name).size() > 1; };
  const auto wanting = std::find_if(pipe.executes.begin(), pipe.executes.end(),
                                    [&](const std::string& name) { return is_shared(name) || is_other(name); });
  if (wanting == pipe.executes.end()) {
    if (pipe.lanes && !pipe.executes.empty())
      complaints.add({"core", "pipes", pipe.name, "lanes"}, "`per_core` of what it alone executes says as much");
  } else if (!pipe.lanes) {
    complaints.add({"core", "pipes", pipe.name},
                   fmt::format("`lanes` is missing: {}", is_shared(*wanting)
                                                             ? fmt::format("another pipe executes {} too", *wanting)
                                                             : fmt::format("how fast it executes {}", *wanting)));
  }
}

}  // namespace

void check_pipes(const Layers& layers, const ArchSpec& a, base::Diagnostics& diags) {
  const std::vector<PipeSpec>& pipes = a.core.pipes;
  if (pipes.empty() || a.chip_class != ChipClass::kGpu) return;
  Complaints complaints(layers, diags);
  if (pipes.size() > kMaxPipes)
    complaints.add({"core", "pipes"}, fmt::format("{} pipes are more than {}", pipes.size(), kMaxPipes));
  for (const PipeSpec& pipe : pipes) {
    check_executes(a, pipe, complaints);
    check_lanes(pipes, pipe, complaints);
  }
  const auto require = [&](const Path& path, std::string_view instruction) {
    if (shares_of(pipes, instruction).empty())
      complaints.add(path, fmt::format("no pipe executes {}", instruction), {{"core", "pipes"}});
  };
  for (const ComputeSpec& c : a.compute) require({"compute", c.name}, c.name);
  for (const std::string_view instruction : kOtherInstructions)
    if (instruction != kScratchpadAccesses || scratchpad_of(a) != nullptr) require({"core", "pipes"}, instruction);
}

}  // namespace tilescope::arch
