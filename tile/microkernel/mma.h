// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the lanes that execute a matrix instruction load an operand's fragments from its cached tile into registers.
// Where the instruction set has loads of rows (PTX's ldmatrix) and their maps fit the tile's rows, each lane names a
// row; else every lane reads its own elements, as many neighbours at a time as map, rows and chip allow.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fixed_vector.h"
#include "tile/program.h"

namespace tilescope::tile {

struct FragmentRead {
  enum class How : std::uint8_t { kElements, kRows, kTransposedRows } how = How::kElements;
  std::int64_t run = 1;                           // kElements: neighbours of one access; else: elements of a row
  std::int64_t together = 1;                      // fragments along the operand's rows or columns in one load
  std::int64_t parts = 1;                         // loads of one fragment, each as much of every lane's elements
  base::FixedVector<arch::FragmentBit, 20> rows;  // of one load: what each bit of a row's number adds

  bool by_rows() const { return how != How::kElements; }
};

// Why no program can multiply by an instruction of the chip: its entry lacks a key, or describes operands that no
// cached tile has. Empty where programs can.
std::string matrix_refusal(const arch::ComputeSpec& instruction);

// How the fragments of an input are read, of a program with a matrix instruction whose fragments are known.
// `max_access` bounds what one lane reads at a time.
FragmentRead fragment_read(const StageProgram& p, std::size_t operand, base::Bytes max_access);

// Of one load of rows: the rows (r) and their elements (c) that lanes receive.
arch::FragmentMap map_of_load(const StageProgram& p, std::size_t operand, const FragmentRead& read);

// The map of an input's fragments. Of the cached operand's own axes: the letter of its rows or columns.
const arch::FragmentMap& fragment_map(const MatrixUnit& unit, std::size_t operand);
inline arch::FragmentAxis side_of(std::size_t operand) {
  return operand == 0 ? arch::FragmentAxis::kRow : arch::FragmentAxis::kColumn;
}

// How many of a lane's results its map puts side by side along an axis of C.
std::int64_t neighbouring_results(const MatrixUnit& unit, arch::FragmentAxis axis);

// Neighbouring bits that add to one coordinate, each twice as far as the one before: a digit of a lane's or an
// element's number.
struct FragmentDigit {
  std::int64_t faster = 1, count = 1;  // the digit is number / faster % count
  arch::FragmentAxis axis{};
  std::int64_t step = 0;
};
// The digits of bits from number `first` on, the lowest first; copies are none.
std::vector<FragmentDigit> digits_of(std::span<const arch::FragmentBit> bits, std::size_t first = 0);

}  // namespace tilescope::tile
