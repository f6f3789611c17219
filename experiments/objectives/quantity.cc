// SPDX-License-Identifier: Apache-2.0
#include "experiments/objectives/quantity.h"

namespace tilescope::experiments {

std::optional<Quantity> quantity_of(std::string_view name) {
  for (std::size_t q = 0; q < kQuantities; ++q)
    if (kQuantityRows[q].name == name) return static_cast<Quantity>(q);
  return std::nullopt;
}

std::vector<std::string_view> quantity_names() {
  std::vector<std::string_view> out;
  for (const QuantityRow& q : kQuantityRows) out.push_back(q.name);
  return out;
}

std::vector<std::string_view> operator_quantity_names() {
  std::vector<std::string_view> out;
  for (const QuantityRow& q : kQuantityRows)
    if (q.of_operators) out.push_back(q.name);
  return out;
}

}  // namespace tilescope::experiments
