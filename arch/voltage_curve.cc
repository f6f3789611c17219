// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <fmt/format.h>

#include "arch/power.h"
#include "base/diagnostics.h"
#include "base/quantity.h"

namespace tilescope::arch {
namespace {

constexpr std::string_view kAt = " at ";
constexpr double kMega = 1e6;

std::optional<VoltageCurve::Point> point_of(std::string_view text) {
  const std::size_t at = text.find(kAt);
  if (at == std::string_view::npos) return std::nullopt;
  const auto voltage = base::parse_quantity(text.substr(0, at));
  const auto clock = base::parse_quantity(text.substr(at + kAt.size()));
  if (!voltage || voltage->dimension != base::Dimension::kVolts || voltage->value <= 0) return std::nullopt;
  if (!clock || clock->dimension != base::Dimension::kHertz || clock->value < 1) return std::nullopt;
  return VoltageCurve::Point{{std::llround(clock->value)}, {voltage->value}};
}

std::string text_of(const VoltageCurve::Point& p) {
  return fmt::format("{:.12g} V{}{:.12g} MHz", p.voltage.v, kAt, static_cast<double>(p.clock.n) / kMega);
}

}  // namespace

std::optional<Volts> VoltageCurve::at(Hertz clock) const {
  const Point* before = nullptr;
  for (const Point& p : points) {
    if (clock <= p.clock) {
      if (before == nullptr) return p.voltage;
      const double part =
          static_cast<double>((clock - before->clock).n) / static_cast<double>((p.clock - before->clock).n);
      return before->voltage + (p.voltage - before->voltage) * part;
    }
    before = &p;
  }
  return std::nullopt;
}

std::optional<VoltageCurve> voltage_curve_of(const std::vector<std::string>& texts, base::Diagnostics& diags) {
  VoltageCurve curve;
  for (const std::string& text : texts) {
    const auto point = point_of(text);
    if (!point) {
      diags.error({}, fmt::format("expected a point such as '0.706 V at 1065 MHz', got '{}'", text));
      return std::nullopt;
    }
    if (!curve.points.empty() && point->clock <= curve.points.back().clock)
      diags.error({}, fmt::format("'{}' stands behind '{}'; clocks rise", text, text_of(curve.points.back())));
    else if (!curve.points.empty() && point->voltage < curve.points.back().voltage)
      diags.error({}, fmt::format("'{}' is below '{}'; voltages do not fall", text, text_of(curve.points.back())));
    curve.points.push_back(*point);
  }
  if (!diags.ok()) return std::nullopt;
  return curve;
}

std::vector<std::string> texts_of(const VoltageCurve& curve) {
  std::vector<std::string> out;
  for (const VoltageCurve::Point& p : curve.points) out.push_back(text_of(p));
  return out;
}

}  // namespace tilescope::arch
