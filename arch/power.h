// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a chip's board draws at rest, and what its work costs, as parts of its description (arch/spec.h). Cores share
// one voltage that follows their clock; a DRAM has its own. energy/energy.h says how these make a power. A figure holds
// for the chip of the file that states it. Where a later file or an override changes the level or the process, and not
// the figure, the figure follows (energy/scaling.h), so that the description keeps what it held for.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tilescope::base {
class Diagnostics;
}
namespace tilescope::arch {

using base::Bytes;
using base::Hertz;
using base::Picojoules;
using base::PicojoulesPerByte;
using base::Volts;
using base::Watts;
using base::WattsPerSquareVolt;
using base::WattsPerSquareVoltGigahertz;

// The voltage of the cores at their clock: that of the first point below it, on straight lines between points.
struct VoltageCurve {
  struct Point {
    Hertz clock;
    Volts voltage;

    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;  // at least one, of rising clocks and of voltages that do not fall

  // Nullopt above the last point.
  std::optional<Volts> at(Hertz clock) const;

  bool operator==(const VoltageCurve&) const = default;
};

// Reads a curve from texts such as `0.706 V at 1065 MHz`, one for each point; nullopt, after an error, where a text is
// no point or the points do not rise.
std::optional<VoltageCurve> voltage_curve_of(const std::vector<std::string>& texts, base::Diagnostics& diags);

// The points as files write them.
std::vector<std::string> texts_of(const VoltageCurve& curve);

// The power that does not depend on a program.
struct PowerSpec {
  std::optional<Watts> limit;              // of the board, which holds the clock down; no limit where absent
  Watts board;                             // of the board and what does not follow the cores' voltage
  std::optional<Watts> channel;            // of each channel of the DRAM, at rest
  WattsPerSquareVolt leakage;              // of each core
  WattsPerSquareVoltGigahertz clock_tree;  // of each core
  VoltageCurve curve;
  std::optional<std::string> node;  // process that leakage and clock tree are of; that of the die where absent
  std::string source;

  bool operator==(const PowerSpec&) const = default;
};

// The energy of one operation of an instruction of `compute`: a multiply-add of a matrix, one lane of any other.
struct OperationEnergy {
  Picojoules operation;

  bool operator==(const OperationEnergy&) const = default;
};

// The geometry of a level that the energy of its bytes holds for; as the level is, where a member is absent.
struct HeldLevel {
  std::optional<Bytes> capacity, bank_width;
  std::optional<std::int64_t> banks;

  bool operator==(const HeldLevel&) const = default;
};

// The energy of a byte that a level moves.
struct LevelEnergy {
  PicojoulesPerByte byte;                 // read or written; of a DRAM on a supply of its own
  std::optional<PicojoulesPerByte> chip;  // of a DRAM's byte: on the chip, at the cores' voltage
  std::optional<Picojoules> activate;     // of a DRAM: of one row of one channel
  std::optional<HeldLevel> holds_for;     // where the level has become another one since

  bool operator==(const LevelEnergy&) const = default;
};

// The energy of what programs do.
struct EnergySpec {
  Volts voltage;           // of the cores, at which the figures hold; they go with its square
  Picojoules instruction;  // of one lane of any instruction
  std::map<std::string, OperationEnergy> operations;  // by entry of `compute`, beyond its instruction
  std::map<std::string, LevelEnergy> levels;          // by level
  std::optional<PicojoulesPerByte> link;              // of a byte that one core sends to others
  std::optional<std::string> node;  // process that the figures are of, DRAM apart; that of the die where absent
  std::string source;
  std::optional<double> residual;  // relative error on the data that the figures were fitted to

  bool operator==(const EnergySpec&) const = default;
};

}  // namespace tilescope::arch
