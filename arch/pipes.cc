// SPDX-License-Identifier: Apache-2.0
#include "arch/pipes.h"

#include <algorithm>

namespace tilescope::arch {
namespace {

bool executes(const PipeSpec& pipe, std::string_view instruction) {
  return std::find(pipe.executes.begin(), pipe.executes.end(), instruction) != pipe.executes.end();
}

}  // namespace

std::vector<PipeSpec> pipes_of(const ArchSpec& a) {
  if (!a.core.pipes.empty()) return a.core.pipes;
  PipeSpec arithmetic{"arithmetic", {}, {}}, matrix{"matrix", {}, {}}, special{"special", {}, {}};
  for (const ComputeSpec& c : a.compute) {
    PipeSpec& pipe = c.m > 1 || c.n > 1 ? matrix : c.name.starts_with("special.") ? special : arithmetic;
    pipe.executes.push_back(c.name);
  }
  return {arithmetic, matrix, special, {"memory", a.core.warp, {std::string(kMemoryAccesses)}}};
}

std::int64_t lanes_of(const std::vector<PipeSpec>& pipes, std::string_view instruction) {
  std::int64_t narrowest = 0;
  for (const PipeSpec& pipe : pipes)
    if (pipe.lanes && executes(pipe, instruction) && (narrowest == 0 || *pipe.lanes < narrowest))
      narrowest = *pipe.lanes;
  return narrowest;
}

std::int64_t access_lanes_of(const ArchSpec& a, std::string_view access) {
  const std::int64_t lanes = lanes_of(a.core.pipes, access);
  return lanes > 0 ? lanes : a.core.warp;
}

std::vector<PipeShare> shares_of(const std::vector<PipeSpec>& pipes, std::string_view instruction) {
  std::vector<PipeShare> shares;
  const auto narrowest = static_cast<double>(lanes_of(pipes, instruction));
  for (std::size_t p = 0; p < pipes.size(); ++p)
    if (executes(pipes[p], instruction))
      shares.push_back({p, pipes[p].lanes ? narrowest / static_cast<double>(*pipes[p].lanes) : 1.0});
  return shares;
}

}  // namespace tilescope::arch
