// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the lanes that execute a matrix instruction load an operand's fragments from its cached tile into registers.
// Where the instruction set has loads of rows (PTX's ldmatrix) and their maps fit the tile's rows, each lane addresses
// a row. Otherwise every lane reads its own elements, with as many contiguous ones in an access as map, rows and chip
// allow.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fixed_vector.h"
#include "tile/program.h"

namespace tilescope::tile {

struct FragmentRead {
  enum class How : std::uint8_t { kElements, kRows, kTransposedRows } how = How::kElements;
  std::int64_t run = 1;       // kElements: contiguous elements of one access; else: elements of a row
  std::int64_t together = 1;  // fragments along the operand's rows or columns in one load
  std::int64_t parts = 1;     // loads of one fragment, each with an equal share of every lane's elements
  base::FixedVector<arch::FragmentBit, 20> rows;  // of one load: what each bit of a row's number adds

  bool by_rows() const { return how != How::kElements; }
};

// Why no program can use a matrix instruction of the chip: its entry lacks a key, or describes operands that no cached
// tile has. Empty where programs can.
std::string matrix_refusal(const arch::ComputeSpec& instruction);

// How the fragments of an input are read, for a program with a matrix instruction whose fragments are known.
// `max_access` limits the bytes that one lane reads at a time.
FragmentRead fragment_read(const StageProgram& p, std::size_t operand, base::Bytes max_access);

// The map of one load of rows: the rows (r) and their elements (c) that lanes receive.
arch::FragmentMap map_of_load(const StageProgram& p, std::size_t operand, const FragmentRead& read);

// The map of an input's fragments. side_of: the letter of the operand's axis other than depth: rows of the first
// operand, columns of the second.
const arch::FragmentMap& fragment_map(const MatrixUnit& unit, std::size_t operand);
inline arch::FragmentAxis side_of(std::size_t operand) {
  return operand == 0 ? arch::FragmentAxis::kRow : arch::FragmentAxis::kColumn;
}

// Number of a lane's results that are contiguous along an axis of C by its map.
std::int64_t neighbouring_results(const MatrixUnit& unit, arch::FragmentAxis axis);

// Consecutive bits that add to one coordinate, each with twice the step of the one before: a digit of a lane's or an
// element's number.
struct FragmentDigit {
  std::int64_t faster = 1, count = 1;  // the digit is number / faster % count
  arch::FragmentAxis axis{};
  std::int64_t step = 0;
};
// The digits of the bits from number `first` on, the lowest first. Bits that only make copies give none.
std::vector<FragmentDigit> digits_of(std::span<const arch::FragmentBit> bits, std::size_t first = 0);

}  // namespace tilescope::tile
