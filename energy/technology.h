// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data of energy/technology/*.yaml: tables of named figures, each with a mark and a source. No figure of a process,
// a library or a market is in C++.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"

namespace tilescope::energy {

// Every table, in the order of the files.
enum class Table : std::uint8_t {
  kDensity,           // by process: millions of transistors a mm2
  kSramCell,          // by process: mm2 a bit
  kWafer,             // by process: USD
  kDefects,           // by process: per cm2
  kMultiplyAdd,       // by element type: millions of transistors
  kCore,              // scheduler, port, crosspoint: millions of transistors; port_bytes
  kRegisterFile,      // coefficients of a polynomial (energy/arrays.h)
  kArrayEfficiency,   // by capacity: share of an array that is cells
  kOther,             // mm2 of a die
  kInterfaceBits,     // by memory interface
  kMemoryPhy,         // by memory interface: mm2
  kMemoryController,  // by memory interface: millions of transistors
  kLinkPhy,           // by link: mm2
  kLinkController,    // by link: millions of transistors
  kMemoryGigabyte,    // by memory interface: USD
  kPackage,           // by memory interface: USD
  kYield,             // clustering of defects; wafer_diameter in mm
  kNodeEnergy,        // by process: energy over that at 7 nm
  kBankRead,          // by capacity: pJ of a read of 32 bits
  kBankWidth,         // by width: pJ of a read of 4 KiB
  kCacheRead,         // by capacity: pJ of a read of 256 bits
  kArray,             // bytes of a read of these tables; wire: pJ a bit and mm; crosspoint: mm a side and bit
};
inline constexpr std::size_t kTables = 22;

struct Figure {
  std::string name;
  double value = 0;  // in the table's unit
  std::string mark, source;

  // "LLMCompass cost_model [R]".
  std::string cited() const;
};

class Technology {
 public:
  // Reads the tables of the project's own folder, or of another one; nullopt after errors.
  static std::optional<Technology> read(base::Diagnostics& diags);
  static std::optional<Technology> read(const std::string& folder, base::Diagnostics& diags);
  // The project's own tables, read once; throws std::runtime_error with the reasons where they are wrong.
  static const Technology& own();

  const std::vector<Figure>& rows(Table table) const { return tables_[static_cast<std::size_t>(table)]; }
  // The row of that name, or null.
  const Figure* find(Table table, std::string_view name) const;
  // The rows of a table that are named by bytes, as bytes and values.
  std::vector<std::pair<double, double>> by_bytes(Table table) const;
  // The row of a name that the reader requires, such as `scheduler` of kCore.
  const Figure& at(Table table, std::string_view name) const;
  // "no density of '9nm'; energy/technology/process.yaml knows 5nm, 4N, ..": why find returned null.
  std::string why_unknown(Table table, std::string_view name) const;

 private:
  std::array<std::vector<Figure>, kTables> tables_;
};

}  // namespace tilescope::energy
