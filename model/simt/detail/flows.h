// SPDX-License-Identifier: Apache-2.0
#pragma once
// What operands move between core and device, counted from a program and a chip's granules.

#include <cstdint>
#include <span>

#include "base/fixed_vector.h"
#include "model/simt/counts.h"
#include "model/simt/transfer/results.h"
#include "tile/program.h"

namespace tilescope::model {

// Adds the flows of a kernel's stage to its counts, of which the rest is there. `asked`: by operand, the accesses of
// one warp to memory of what no copy brings, of one step, or all stores. `known` may be null.
void add_flows(Counts& c, const KernelStage& kernel, const Geometry& g, std::span<const ResultAccess> asked,
               AccessTable* known, base::FixedVector<Flow, tile::kMaxOperands>& flows);

// Mean bytes of one request for an operand: a core requests each line separately, with the sectors that one access of a
// warp touches. `asked` holds the accesses of one warp to an operand that no copy brings, and is null for other ones;
// `known` may be null.
double request_bytes_of(const tile::StageProgram& p, const Geometry& g, std::size_t operand, const ResultAccess* asked,
                        AccessTable* known);

// Expected sectors, in bytes, that a run of `length` elements `stride` elements apart touches when its start is any
// multiple of `alignment_bytes`: exact over all starts.
double run_bytes_in_sectors(std::int64_t length, std::int64_t stride, std::int64_t element_bytes,
                            std::int64_t alignment_bytes, std::int64_t sector_bytes);

// Expected bytes of bursts that such a run touches and of which it covers some granule in part.
double partly_covered_bytes(std::int64_t length, std::int64_t stride, std::int64_t element_bytes,
                            std::int64_t alignment_bytes, std::int64_t burst_bytes, std::int64_t granule_bytes);

// Bytes of DRAM, in its granules, that hold an operand's distinct elements under a tile.
double dram_bytes_under(const tile::Operand& o, const tile::Extents& tile, std::int64_t start_multiple,
                        std::int64_t granule);

// What DRAM reads because the output's elements under a tile are stored in parts: whole sectors that are fetched, or
// bursts that are covered in part.
double read_bytes_under(const tile::Operand& output, const tile::Extents& tile, std::int64_t start_multiple,
                        const Geometry& g);

}  // namespace tilescope::model
