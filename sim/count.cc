// SPDX-License-Identifier: Apache-2.0
// Counting without time: every warp of every block runs through its operations, and nothing waits.

#include "sim/gpu/detail/machine.h"
#include "sim/gpu/detail/warp_code.h"
#include "sim/simulate.h"

namespace tilescope::sim {
namespace {

using Kind = WarpOp::Kind;

void walk(WarpCode& code, std::int64_t warp, Uniforms u, std::int64_t pass_bytes, lower::KernelCounters& counters) {
  const CodeLoops& loops = code.loops();
  std::size_t pc = 0;
  while (true) {
    const WarpOp& op = code.ops()[pc];
    const auto jump = static_cast<std::size_t>(op.jump);
    switch (op.kind) {
      case Kind::kLoop:
        pc = loops.enter(loops[op.number], u) ? pc + 1 : jump;
        continue;
      case Kind::kEndLoop:
        pc = loops.next(loops[op.number], u) ? jump : pc + 1;
        continue;
      case Kind::kIf:
        pc = code.holds(op.number, u) ? pc + 1 : jump;
        continue;
      case Kind::kRole:
        pc = code.is_of(op, warp) ? pc + 1 : jump;
        continue;
      case Kind::kSegment:
        for (const auto& [copy, count] : code.segment(op.number).at(warp, u).shared)
          counters[static_cast<std::size_t>(copy)].shared += count;
        break;
      case Kind::kLoad:
      case Kind::kStore:
      case Kind::kAsync: {
        const AccessPattern& p = *code.access(op.number).at(warp, u).pattern;
        counters[static_cast<std::size_t>(op.number)].global += p.count.global;
        counters[static_cast<std::size_t>(op.number)].shared += p.count.shared;
        break;
      }
      case Kind::kTmaLoad:
      case Kind::kTmaStore: {
        const TmaBoxLines& box = code.box(op.number);
        if (warp != box.warp()) break;
        const bool multicast = op.kind == Kind::kTmaLoad && code.mbarrier_phase(op).cluster;
        const lower::CopyCount count =
            box.count(box.lines(u), pass_bytes, multicast ? code.indices().kernel().cluster : 1);
        counters[code.counted_box(op.number)].global += count.global;
        counters[code.counted_box(op.number)].shared += count.shared;
        break;
      }
      case Kind::kEnd:
        return;
      default:
        break;
    }
    ++pc;
  }
}

}  // namespace

std::vector<lower::KernelCounters> count(const lower::Module& module, const arch::ArchSpec& chip) {
  const Machine machine = machine_of(chip);
  const std::vector<std::int64_t> bases = lower::base_addresses(module);
  const IndexTables tables = lower::index_tables(module);
  std::vector<lower::KernelCounters> out;
  for (const lower::Kernel& k : module.kernels) {
    WarpCode code(k, bases, tables, chip, machine);
    lower::KernelCounters& counters = out.emplace_back(code.counted());
    for (std::int64_t block = 0; block < k.blocks; ++block) {
      const Uniforms u = code.start(block);
      for (std::int64_t warp = 0; warp < code.indices().warps(); ++warp)
        walk(code, warp, u, machine.banks.count * machine.banks.width, counters);
    }
  }
  return out;
}

}  // namespace tilescope::sim
