// SPDX-License-Identifier: Apache-2.0
#pragma once
// Amounts with units as people write them: `900 GB/s`, `96 KiB`, `1.38 GHz`, `64 bit`, `425 cycles`. Decimal prefixes
// are powers of 1000 and KiB, MiB, GiB powers of 1024, so `96 KB` is what it says: 96000 bytes.

#include <optional>
#include <string_view>

#include "base/document.h"
#include "base/units.h"

namespace tilescope::base {

enum class Dimension {
  kBytes,
  kHertz,
  kCycles,
  kMicroseconds,
  kBytesPerSecond,
  kFlopsPerSecond,
  kVolts,
  kWatts,
  kPicojoules,
  kPicojoulesPerByte,
  kWattsPerSquareVolt,
  kWattsPerSquareVoltGigahertz,
  kSquareMillimeters,
  kDollars
};

// A parsed quantity: the value in the base unit of its dimension (B, Hz, cycles, us, B/s, FLOP/s, V, W, pJ, pJ/B, W/V2,
// W/V2/GHz, mm2, USD).
struct Quantity {
  double value = 0;
  Dimension dimension{};
};

// The quantity that `text` writes, or nullopt if it is no number followed by a known unit.
std::optional<Quantity> parse_quantity(std::string_view text);

// What a user may write for the dimension, for messages: "an amount of bytes such as '96 KiB'".
std::string_view example_of(Dimension dimension);

// The regular expression (ECMA 262, as JSON Schema uses) that every text of the dimension matches.
std::string_view pattern_of(Dimension dimension);

// Typed readings of one value, like those of base/fields.h: a missing unit, another dimension, a fraction of a byte, a
// value that is not positive, or one beyond 64 bits is an error at the value.
std::optional<Bytes> as_bytes(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<Hertz> as_hertz(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<Cycles> as_cycles(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<Microseconds> as_microseconds(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<BytesPerSecond> as_bytes_per_second(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<FlopsPerSecond> as_flops_per_second(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<Volts> as_volts(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<Watts> as_watts(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<Picojoules> as_picojoules(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<PicojoulesPerByte> as_picojoules_per_byte(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<WattsPerSquareVolt> as_watts_per_square_volt(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<WattsPerSquareVoltGigahertz> as_watts_per_square_volt_gigahertz(const Value* v, std::string_view name,
                                                                              Diagnostics& diags);
std::optional<SquareMillimeters> as_square_millimeters(const Value* v, std::string_view name, Diagnostics& diags);
std::optional<Dollars> as_dollars(const Value* v, std::string_view name, Diagnostics& diags);

// A quantity of any dimension in its base unit.
std::optional<double> as_quantity(const Value* v, std::string_view name, Dimension dimension, Diagnostics& diags);

}  // namespace tilescope::base
