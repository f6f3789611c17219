// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/products.h"

#include <fmt/format.h>

namespace tilescope::cuda {

void Products::operator()(const lower::Mma& m) {
  page_.add_list(fmt::format("mma<{}>(", matrices_.name_of(lower::instruction_of(kernel_, m))),
                 {fmt::format("&{},", formulas_.element(m.d)), fmt::format("&{},", formulas_.element(m.a)),
                  fmt::format("&{});", formulas_.element(m.b))});
}

void Products::operator()(const lower::Wgmma& m) {
  const std::string& instruction = matrices_.name_of(lower::instruction_of(kernel_, m));
  const std::int64_t b_row = buffer(m.b.at).swizzled_row;
  if (!m.a) {
    const std::string row = b_row > 0 ? fmt::format(", {}", b_row) : "";
    page_.add_list(fmt::format("wgmma_held<{}, {}, {}{}>(", instruction, m.columns, m.b.transposed, row),
                   {fmt::format("&{},", formulas_.element(m.d)), fmt::format("&{},", formulas_.element(*m.a_fragment)),
                    factor(m.b, adds(m.adds) + ");")});
    return;
  }
  page_.add_list(fmt::format("wgmma<{}, {}, {}, {}{}>(", instruction, m.columns, m.a->transposed, m.b.transposed,
                             rows(buffer(m.a->at).swizzled_row, b_row)),
                 {fmt::format("&{},", formulas_.element(m.d)), factor(*m.a, ","), factor(m.b, adds(m.adds) + ");")});
}

void Products::operator()(const lower::WgmmaFence& f) {
  std::string held;  // what lanes hold of the first factors of the products behind
  lower::for_each_statement(kernel_.body, [&](const lower::Statement& s) {
    const auto* m = std::get_if<lower::Wgmma>(&s.what);
    if (m != nullptr && m->d.buffer == f.sums && m->a_fragment) held = ", " + name(m->a_fragment->buffer);
  });
  page_.add(fmt::format("wgmma_fence({}{});", name(f.sums), held));
}

void Products::operator()(const lower::WgmmaCommitWait& w) {
  page_.add(fmt::format("wgmma_commit_wait({});", name(w.sums)));
}

void Products::operator()(const lower::Tcgen05Mma& m, const std::string& issuer) {
  page_.add_list(
      fmt::format("tcgen05_mma<{}, {}, {}, {}{}>(", matrices_.name_of(lower::instruction_of(kernel_, m)), m.columns,
                  m.a.transposed, m.b.transposed, rows(buffer(m.a.at).swizzled_row, buffer(m.b.at).swizzled_row)),
      {issuer + ",", column(m.d) + ",", factor(m.a, ","), factor(m.b, adds(m.adds) + ");")});
}

void Products::operator()(const lower::Tcgen05Load& l) {
  page_.add_list(fmt::format("tcgen05_load<{}>(", l.elements),
                 {fmt::format("&{},", formulas_.element(l.to)), column(l.from) + ");"});
}

void Products::allocate() {
  for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const lower::Buffer& b = kernel_.buffers[i];
    if (b.space != lower::Space::kTensor) continue;
    const std::string from = first_ ? names_.buffers[*first_]
                                    : fmt::format("tensor_allocate<{}, {}>({})", allocated(),
                                                  lower::tensor_lanes(kernel_), kernel_.shared_bytes);
    const std::int64_t begin = first_ ? kernel_.buffers[*first_].offset_bytes : 0;
    const std::int64_t column = (b.offset_bytes - begin) / lower::kColumnBytes;
    page_.add(fmt::format("const tensor_memory {} = {}{};", names_.buffers[i], from,
                          column == 0 ? "" : fmt::format(" + {}", column)));
    if (!first_) first_ = i;
  }
}

void Products::free() {
  if (!first_) return;
  const std::int64_t column = kernel_.buffers[*first_].offset_bytes / lower::kColumnBytes;
  page_.add(fmt::format("tensor_free<{}>({}{});", allocated(), names_.buffers[*first_],
                        column == 0 ? "" : fmt::format(" + {}", -column)));
}

std::int64_t Products::tensor_bytes() const {
  constexpr std::int64_t kAlignment = 16;
  const std::int64_t columns = allocated();
  return columns == 0 ? 0 : kAlignment + columns * lower::tensor_lanes(kernel_) * lower::kColumnBytes;
}

std::string Products::factor(const lower::SharedOperand& f, std::string_view end) const {
  return fmt::format("&{}, {}, {}{}", formulas_.element(f.at), f.along, f.deep, end);
}

std::string Products::adds(const std::vector<lower::Guard>& guards) const {
  std::string out;
  for (const std::string& c : formulas_.conditions(guards)) out += (out.empty() ? ", " : " && ") + c;
  return out;
}

std::string Products::rows(std::int64_t a, std::int64_t b) {
  return a > 0 || b > 0 ? fmt::format(", {}, {}", a, b) : "";
}

std::string Products::column(const lower::Access& a) const {
  return fmt::format("{} + {}", name(a.buffer), formulas_.affine(a.offset));
}

std::int64_t Products::allocated() const {
  constexpr std::int64_t kLeast = 32;  // PTX ISA, tcgen05.alloc: of a power of two
  const std::int64_t needed = lower::tensor_columns(kernel_);
  std::int64_t columns = needed == 0 ? 0 : kLeast;
  while (columns < needed) columns *= 2;
  return columns;
}

}  // namespace tilescope::cuda
