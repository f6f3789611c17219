#include "tile/align.h"

#include "base/integer.h"

namespace tilescope::tile {

bool fills_transactions(const Operand& operand, const Extents& tile, base::Bytes transaction) {
  const TileShape shape = data_tile(operand, tile);
  if (shape.empty()) return true;
  const std::int64_t row = shape.back();
  return row >= operand.dims.back().extent || row * operand.element.n % transaction.n == 0;
}

std::int64_t bank_padding(std::int64_t row, std::int64_t read_width, std::int64_t banks, std::int64_t bank_elements) {
  const std::int64_t period = banks * bank_elements;
  return (period - row % period + bank_elements * base::ceil_div(read_width, bank_elements)) % period;
}

}  // namespace tilescope::tile
