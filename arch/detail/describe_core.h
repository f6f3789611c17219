// SPDX-License-Identifier: Apache-2.0
#pragma once
// The keys of a core (arch/detail/describe.h).

#include "arch/key.h"
#include "arch/spec.h"

namespace tilescope::arch {

template <class V>
void describe(V& v, TmaSpec& s) {
  v.field(required("row", "Longest row of a box, whose pieces are swizzled."), s.row);
  v.field(optional("min_row", "Shortest row of a box; one granule where absent."), s.min_row);
  v.field(required("granule", "What a tensor's rows begin at multiples of; pieces of a row that stay together."),
          s.granule);
  v.field(required("alignment", "What tiles begin at multiples of in the scratchpad."), s.alignment);
  v.field(required("mbarrier", "Bytes of one barrier in the scratchpad; two for each slot."), s.mbarrier);
  v.field(required("max_extent", "Elements of a box along one dimension."), s.max_extent);
  v.field(required("max_dims", "Dimensions of a tensor."), s.max_dims);
  v.field(optional("max_stride", "Between neighbours along a dimension of a tensor; no bound where absent."),
          s.max_stride);
  v.field(optional("line_interval",
                   "From the request for one line to the next one, of the copy engine of a core; every row of a box "
                   "begins a line. No bound where absent."),
          s.line_interval);
  v.field(optional("max_cluster",
                   "Blocks of the largest cluster, to all of which one load may write; no clusters where absent."),
          s.max_cluster);
  v.field(optional("cluster_latency",
                   "From a warp's arrival to an mbarrier of another block of its cluster; 0 where absent."),
          s.cluster_latency);
}

template <class V>
void describe(V& v, PipeSpec& s) {
  v.field(required("name", "Name of the pipe."), s.name);
  v.field(optional("lanes",
                   "Lanes a cycle and core; needed where it executes integer, memory or scratchpad, or what another "
                   "pipe executes too."),
          s.lanes);
  v.field(required("executes",
                   "Entries of `compute`, and integer (sums and comparisons of addresses, indices and guards), memory "
                   "and scratchpad (accesses). What several pipes execute takes lanes of each."),
          s.executes);
}

template <class V>
void describe(V& v, CoreSpec& s) {
  v.field(required("name", "What the vendor calls one core: SM, CU, tile."), s.name);
  v.field(required("count", "Cores of the chip."), s.count);
  v.field(optional("partitions", "Parts of a core with a scheduler each; 1 where absent."), s.partitions);
  v.field(required("warp", "Threads that issue together."), s.warp);
  v.field(required("max_threads", "Threads resident on one core."), s.max_threads);
  v.field(required("max_blocks", "Blocks resident on one core."), s.max_blocks);
  v.field(required("max_block_threads", "Threads of one block."), s.max_block_threads);
  v.field(optional("max_access", "Widest access to memory of one thread; one element where absent."), s.max_access);
  v.field(
      optional(
          "async_copy",
          "Least that one thread copies from memory to the scratchpad asynchronously (cp.async); absent: it cannot."),
      s.async_copy);
  v.field(
      optional("async_copy_interval",
               "Between two instructions with which whole warps copy asynchronously, on a core; as of other accesses "
               "where absent."),
      s.async_copy_interval);
  v.field(optional("fenced_copy_interval",
                   "The same where a matrix instruction reads from the scratchpad what they copy, after a proxy fence; "
                   "async_copy_interval where absent."),
          s.fenced_copy_interval);
  v.part(
      optional("tma",
               "Engine that loads boxes of tensors to the scratchpad as one thread asks (NVIDIA's TMA); absent: none."),
      s.tma);
  v.field(optional("issue", "Warp instructions a cycle and partition; 1 where absent."), s.issue);
  v.field(optional("register_banks",
                   "Banks of a partition's registers, each of which gives a warp one register a cycle; a multiply-add "
                   "waits where its operands share one. Absent: operands never wait."),
          s.register_banks);
  v.list(optional("pipes",
                  "What executes which instructions: every entry of `compute`, integer, memory, scratchpad. Where "
                  "absent fragments, special functions and other arithmetic have a pipe each, and accesses to memory "
                  "the lanes of a warp; nothing else bounds the others."),
         s.pipes);
  v.field(optional("shuffle",
                   "Lanes a cycle that get a register of another lane of their warp, through the scratchpad's crossbar "
                   "and with its latency; absent: they cannot."),
          s.shuffle);
  v.field(optional("block_launch", "From a block's end to the first instruction of its successor; none where absent."),
          s.block_launch);
  v.field(optional("warp_launch", "Between the first instructions of a block's warps; none where absent."),
          s.warp_launch);
  v.field(optional("issue_interval",
                   "Of a bsp chip: from one instruction of a thread to its next one, whether others issue or not; "
                   "1 cycle where absent."),
          s.issue_interval);
}

}  // namespace tilescope::arch
