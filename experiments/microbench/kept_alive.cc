// SPDX-License-Identifier: Apache-2.0
#include "experiments/microbench/detail/kept_alive.h"

#include <cstdint>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "lower/affine.h"
#include "lower/kernel_builder.h"

namespace tilescope::experiments {
namespace {

using lower::Access;
using lower::Statement;

class KeepAlive {
 public:
  KeepAlive(lower::Module& m, lower::Kernel& k) : kernel_(k) {
    m.globals.push_back({"alive_sink", base::Dtype::kF32, 1, lower::Role::kBetween});
    sink_ = add({"alive_sink", lower::Space::kGlobal, base::Dtype::kF32, 1, static_cast<int>(m.globals.size()) - 1, 0});
    sum_ = add({"alive", lower::Space::kRegister, base::Dtype::kF32, 1, -1, 0});
  }

  void run() {
    add_sums(kernel_.body);
    kernel_.body.push_back(store(sink_, {{{lower::kBlockIndex, 1}}, -kernel_.blocks}));
    std::vector<Statement> begin;
    for (int b = 0; b < static_cast<int>(kernel_.buffers.size()); ++b) begin_at_one(b, begin);
    kernel_.body.insert(kernel_.body.begin(), begin.begin(), begin.end());
  }

 private:
  int add(lower::Buffer b) {
    kernel_.buffers.push_back(std::move(b));
    return static_cast<int>(kernel_.buffers.size()) - 1;
  }

  const lower::Buffer& buffer(int b) const { return kernel_.buffers[static_cast<std::size_t>(b)]; }
  bool in_registers(int b) const {
    return buffer(b).space == lower::Space::kRegister && buffer(b).dtype == base::Dtype::kF32;
  }

  // Buffers that the body loads from.
  std::set<int> add_sums(std::vector<Statement>& body) {
    std::set<int> loaded;
    std::vector<Statement> out;
    for (Statement& s : body) {
      if (auto* loop = std::get_if<lower::Loop>(&s.what)) {
        const std::set<int> inside = add_sums(loop->body);
        if (loop->unroll == 1) add_stores(inside, loop->index, loop->body);
        loaded.insert(inside.begin(), inside.end());
      }
      const auto* copy = std::get_if<lower::Copy>(&s.what);
      const bool loads = copy != nullptr && in_registers(copy->to.buffer);
      const Access to = loads ? copy->to : Access{};
      const std::int64_t elements = loads ? copy->elements : 0;
      if (loads) loaded.insert(copy->from.buffer);
      out.push_back(std::move(s));
      for (std::int64_t e = 0; e < elements; ++e)
        out.push_back(lower::accumulate({sum_, {}}, {to.buffer, to.offset + lower::constant(e)}));
    }
    body = std::move(out);
    return loaded;
  }

  // Of the sum; happens where the affine is zero.
  Statement store(int to, lower::Affine where) const {
    return lower::copy({to, {}}, {sum_, {}}, 1, {{std::move(where), 1}});
  }

  // Block and index never add up to as much as both have values.
  void add_stores(const std::set<int>& loaded, int index, std::vector<Statement>& body) const {
    const std::int64_t iterations = kernel_.indices[static_cast<std::size_t>(index)].range.high + 1;
    const lower::Affine where = {{{lower::kBlockIndex, 1}, {index, 1}}, -(kernel_.blocks + iterations)};
    for (const int b : loaded) body.push_back(store(b, where));
  }

  void begin_at_one(int b, std::vector<Statement>& begin) const {
    if (!in_registers(b)) return;
    for (std::int64_t e = 0; e < buffer(b).elements; ++e)
      begin.push_back(
          {lower::Compute{
               {b, lower::constant(e)}, expr::Reducer::kNone, {{.kind = expr::NodeKind::kNumber, .number = 1}}, {}},
           {}});
  }

  lower::Kernel& kernel_;
  int sink_ = 0, sum_ = 0;
};

}  // namespace

lower::Module kept_alive(lower::Module m) {
  for (lower::Kernel& k : m.kernels) KeepAlive(m, k).run();
  return m;
}

}  // namespace tilescope::experiments
