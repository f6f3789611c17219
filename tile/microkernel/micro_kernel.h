// SPDX-License-Identifier: Apache-2.0
#pragma once
// The micro-kernel, which multiplies a stage's operands: a unit tile like any other (ROLLER OSDI'22, section 4). It is
// a variant with one alternative for each kind. Each layer that treats the kinds differently has a folder of this name
// with a file for each, and dispatches there.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "arch/spec.h"
#include "base/fixed_vector.h"

namespace tilescope::tile {

// A matrix instruction of the chip, and the tile axes along which its m, n and k lie.
struct MatrixUnit {
  std::string instruction;                       // its name in the chip's `compute`
  std::size_t rows = 0, columns = 0, depth = 0;  // tile axes
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t lanes = 1;                         // threads that execute it together: a warp, or several
  std::int64_t max_columns = 1;                   // greatest n of one instruction, in whole fragments side by side
  std::shared_ptr<const arch::ComputeSpec> spec;  // the chip's entry for it; null for units that no chip has

  // The same instruction along the same axes.
  bool operator==(const MatrixUnit& o) const {
    return instruction == o.instruction && rows == o.rows && columns == o.columns && depth == o.depth && m == o.m &&
           n == o.n && k == o.k && lanes == o.lanes && max_columns == o.max_columns;
  }
};

// Scalar operations of single threads: multiply-adds, or other arithmetic of the stage.
struct Fma {
  bool operator==(const Fma&) const = default;
};

// Lanes hold the operands' fragments in registers (PTX's mma, AMD's MFMA; mma.h).
struct Mma {
  MatrixUnit unit;

  bool operator==(const Mma&) const = default;
};

// Operands stay in the scratchpad, and the instruction runs asynchronously (PTX's wgmma; wgmma.h).
struct Wgmma {
  MatrixUnit unit;

  bool operator==(const Wgmma&) const = default;
};

// The same, issued by one thread, with sums in a core's tensor memory until the reduction is done; then the lanes of
// the instruction read them into registers (PTX's tcgen05.mma; tcgen05.h).
struct Tcgen05 {
  MatrixUnit unit;

  bool operator==(const Tcgen05&) const = default;
};

// Computes each result in the thread that holds the result of an earlier stage of its kernel, in registers (CUTLASS:
// epilogue; epilogue.h). `holder` is the micro-kernel of that stage.
struct Epilogue {
  std::variant<Fma, Mma, Wgmma, Tcgen05> holder;

  bool operator==(const Epilogue&) const = default;
};

// Reduces the results that lanes hold of an earlier stage along the columns of their matrix instruction, in registers
// (row_reduction.h). `holder` is the micro-kernel of that stage, along this stage's axes.
struct RowReduction {
  std::variant<Mma, Wgmma> holder;

  bool operator==(const RowReduction&) const = default;
};

using MicroKernel = std::variant<Fma, Mma, Wgmma, Epilogue, RowReduction, Tcgen05>;

// An instruction of the chip as a micro-kernel, along the axes of `along`.
MicroKernel micro_kernel_of(const arch::ComputeSpec& instruction, const arch::ArchSpec& chip,
                            const MatrixUnit& along = {});

// The micro-kernel's matrix instruction, or null.
constexpr const MatrixUnit* unit_of(const Fma& /*none*/) { return nullptr; }
constexpr const MatrixUnit* unit_of(const Mma& kernel) { return &kernel.unit; }
constexpr const MatrixUnit* unit_of(const Wgmma& kernel) { return &kernel.unit; }
constexpr const MatrixUnit* unit_of(const Tcgen05& kernel) { return &kernel.unit; }
constexpr const MatrixUnit* unit_of(const Epilogue& /*none*/) { return nullptr; }
constexpr const MatrixUnit* unit_of(const RowReduction& /*none*/) { return nullptr; }
inline const MatrixUnit* unit_of(const MicroKernel& kernel) {
  return std::visit([](const auto& k) { return unit_of(k); }, kernel);
}
inline MatrixUnit* unit_of(MicroKernel& kernel) { return const_cast<MatrixUnit*>(unit_of(std::as_const(kernel))); }

// The matrix instruction whose map determines which lane holds which results, or null.
inline const MatrixUnit* holding_unit_of(const Epilogue& kernel) {
  return std::visit([](const auto& k) { return unit_of(k); }, kernel.holder);
}
inline const MatrixUnit* holding_unit_of(const RowReduction& kernel) {
  return std::visit([](const auto& k) { return unit_of(k); }, kernel.holder);
}
inline const MatrixUnit* holding_unit_of(const MicroKernel& kernel) {
  if (const auto* epilogue = std::get_if<Epilogue>(&kernel)) return holding_unit_of(*epilogue);
  if (const auto* rows = std::get_if<RowReduction>(&kernel)) return holding_unit_of(*rows);
  return unit_of(kernel);
}

// Number of neighbouring lanes that hold the parts of one row of the unit's results; nullopt where these are no
// neighbours, or hold copies, and where they read results from tensor memory.
std::optional<std::int64_t> lanes_of_row(const MatrixUnit& unit);

// Number of threads that hold a register tile together. Of a row reduction those that hold different rows.
inline std::int64_t lanes_of(const MicroKernel& kernel) {
  const MatrixUnit* unit = holding_unit_of(kernel);
  if (unit == nullptr) return 1;
  return std::holds_alternative<RowReduction>(kernel) ? unit->lanes / lanes_of_row(*unit).value_or(1) : unit->lanes;
}

// The matrix instruction's name; empty without one.
inline std::string_view name_of(const MicroKernel& kernel) {
  const MatrixUnit* unit = unit_of(kernel);
  return unit == nullptr ? std::string_view() : std::string_view(unit->instruction);
}

// Numbers that distinguish the micro-kernels of one chip: the kind, its instruction, its axes and fragment.
inline base::FixedVector<std::int64_t, 10> identity_of(const MicroKernel& kernel) {
  const auto entry = static_cast<std::int64_t>(kernel.index());
  const MatrixUnit* u = holding_unit_of(kernel);
  if (u == nullptr) return {entry};
  const auto axis = [](std::size_t a) { return static_cast<std::int64_t>(a); };
  return {entry,          reinterpret_cast<std::intptr_t>(u->spec.get()),
          axis(u->rows),  axis(u->columns),
          axis(u->depth), u->m,
          u->n,           u->k,
          u->lanes,       u->max_columns};
}

// Whether the program chooses which thread computes which elements; otherwise the instruction determines it.
inline bool chooses_threads(const MicroKernel& kernel) { return std::holds_alternative<Fma>(kernel); }

}  // namespace tilescope::tile
