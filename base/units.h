// SPDX-License-Identifier: Apache-2.0
#pragma once
// Amounts that do not mix: bytes, cycles and hertz are types, and adding two kinds does not compile
// (tests/unit/base/units_test.cc). Cycles are counted and converted to time late, without an accumulated period.
// Where a hot loop works on plain doubles, the name carries the unit (`_us`, `_bytes`, `_cycles`, `_gbps`).

#include <compare>
#include <cstdint>

namespace tilescope::base {

// A whole amount of one thing.
template <class Tag>
struct Count {
  std::int64_t n{};

  constexpr auto operator<=>(const Count&) const = default;
  friend constexpr Count operator+(Count a, Count b) { return {a.n + b.n}; }
  friend constexpr Count operator-(Count a, Count b) { return {a.n - b.n}; }
  friend constexpr Count operator*(Count a, std::int64_t times) { return {a.n * times}; }
  friend constexpr Count operator*(std::int64_t times, Count a) { return {a.n * times}; }
};

using Bytes = Count<struct BytesTag>;
using Cycles = Count<struct CyclesTag>;
using Hertz = Count<struct HertzTag>;

// A real amount of one thing: rates and times, which are quotients.
template <class Tag>
struct Amount {
  double v{};

  constexpr auto operator<=>(const Amount&) const = default;
  friend constexpr Amount operator+(Amount a, Amount b) { return {a.v + b.v}; }
  friend constexpr Amount operator-(Amount a, Amount b) { return {a.v - b.v}; }
  friend constexpr Amount operator*(Amount a, double times) { return {a.v * times}; }
  friend constexpr double operator/(Amount a, Amount b) { return a.v / b.v; }
};

using Microseconds = Amount<struct MicrosecondsTag>;
using BytesPerSecond = Amount<struct BytesPerSecondTag>;
using FlopsPerSecond = Amount<struct FlopsPerSecondTag>;
using Volts = Amount<struct VoltsTag>;
using Watts = Amount<struct WattsTag>;
using Picojoules = Amount<struct PicojoulesTag>;
using PicojoulesPerByte = Amount<struct PicojoulesPerByteTag>;
// Powers of a part of a chip that grow with the square of its voltage, and with its clock too.
using WattsPerSquareVolt = Amount<struct WattsPerSquareVoltTag>;
using WattsPerSquareVoltGigahertz = Amount<struct WattsPerSquareVoltGigahertzTag>;
using SquareMillimeters = Amount<struct SquareMillimetersTag>;
using Dollars = Amount<struct DollarsTag>;

constexpr Microseconds to_time(Cycles c, Hertz f) {
  return {static_cast<double>(c.n) * 1e6 / static_cast<double>(f.n)};
}
constexpr Microseconds to_time(Bytes b, BytesPerSecond rate) { return {static_cast<double>(b.n) * 1e6 / rate.v}; }

}  // namespace tilescope::base
