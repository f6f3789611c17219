// SPDX-License-Identifier: Apache-2.0
#include "api/kernel_counts.h"

#include <utility>

#include "api/given.h"
#include "api/given_kernels.h"
#include "arch/hierarchy.h"
#include "lower/counters.h"
#include "lower/operations.h"
#include "targets/lowered.h"
#include "targets/target.h"

namespace tilescope::api {
namespace {

// More would take minutes to count.
constexpr lower::KernelLimits kCounted{.statements_of_warps = 0x1p33};

void add(KernelLevel& level, const lower::AccessCount& count, bool writes) {
  (writes ? level.written_bytes : level.read_bytes) += count.bytes;
  level.requests += count.requests;
  level.transactions += count.sectors + count.passes;
}

KernelCount counted(const lower::Kernel& k, const lower::KernelCounters& counters, const arch::ArchSpec& a) {
  const lower::Operations operations = lower::operations_of(k);
  const arch::CacheLevel* cache = arch::device_cache_of(a);
  const arch::ScratchpadLevel* pad = arch::scratchpad_of(a);
  KernelLevel memory{cache != nullptr ? cache->name : arch::dram_of(a)->name}, shared{pad != nullptr ? pad->name : ""};
  const std::vector<const lower::Copy*> copies = lower::copies_of(k);
  std::vector<bool> stores;  // of TMA copies, in order
  lower::for_each_statement(k.body, [&](const lower::Statement& s) {
    if (std::holds_alternative<lower::TmaLoad>(s.what)) stores.push_back(false);
    if (std::holds_alternative<lower::TmaStore>(s.what)) stores.push_back(true);
  });
  const auto space_of = [&](const lower::Access& x) { return k.buffers[static_cast<std::size_t>(x.buffer)].space; };
  for (std::size_t c = 0; c < counters.size(); ++c) {
    bool to_memory = false, to_shared = false;
    if (c < copies.size()) {
      to_memory = space_of(copies[c]->to) == lower::Space::kGlobal;
      to_shared = space_of(copies[c]->to) == lower::Space::kShared;
    } else {
      to_memory = stores[c - copies.size()];
      to_shared = !to_memory;
    }
    add(memory, counters[c].global, to_memory);
    add(shared, counters[c].shared, to_shared);
  }
  KernelCount out{k.name, operations.count, operations.at_most, {std::move(memory)}};
  if (pad != nullptr) out.levels.push_back(std::move(shared));
  return out;
}

}  // namespace

std::optional<std::vector<KernelCount>> count_kernels(const NamedText& file, const arch::ArchSpec& a,
                                                      base::Diagnostics& diags) {
  auto kernels = read_kernel_file(file, a, diags, kCounted);
  if (!kernels) return std::nullopt;
  const targets::Lowered lowered{std::move(kernels->module)};
  const std::vector<lower::KernelCounters> counters = targets::target_of(a).count(lowered, a);
  std::vector<KernelCount> out;
  for (std::size_t k = 0; k < counters.size(); ++k) out.push_back(counted(lowered.module().kernels[k], counters[k], a));
  return out;
}

base::Value to_document(const std::vector<KernelCount>& kernels) {
  return base::Map{{"kernels", base::to_list(kernels)}, {"predicted_us", nullptr}};
}

}  // namespace tilescope::api
