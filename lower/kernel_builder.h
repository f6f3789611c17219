// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that come from no program: microbenchmarks, and kernels of tests.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lower/affine.h"
#include "lower/kernel.h"

namespace tilescope::lower {

// A module of one kernel, built step by step: arrays, indices, then statements. Sizes of arrays are in elements. A
// function that adds an array or an index returns its number, as Access and Loop take it.
class KernelBuilder {
 public:
  KernelBuilder(std::string name, std::int64_t blocks, std::int64_t threads)
      : indices_(prepared(std::move(name), blocks, threads)) {}
  KernelBuilder(KernelBuilder&&) = default;  // the kernel keeps its address; a copy's indices would be the original's

  IndexMaker& indices() { return indices_; }
  Affine block() const { return indices_.block(); }
  Affine thread() const { return indices_.thread(); }
  Kernel& kernel() { return module_.kernels.front(); }
  const Module& module() const { return module_; }

  int global(const std::string& name, std::int64_t elements, Role role = Role::kInput,
             base::Dtype dtype = base::Dtype::kF32) {
    module_.globals.push_back({name, dtype, elements, role});
    return buffer({name, Space::kGlobal, dtype, elements, static_cast<int>(module_.globals.size()) - 1, 0});
  }
  int registers(const std::string& name, std::int64_t elements, base::Dtype dtype = base::Dtype::kF32) {
    return buffer({name, Space::kRegister, dtype, elements, -1, 0});
  }
  int shared(const std::string& name, std::int64_t elements, base::Dtype dtype = base::Dtype::kF32) {
    const std::int64_t at = kernel().shared_bytes;
    kernel().shared_bytes += elements * base::size_of(dtype).n;
    return buffer({name, Space::kShared, dtype, elements, -1, at});
  }

  void add(Statement s) { kernel().body.push_back(std::move(s)); }
  Module take() && { return std::move(module_); }

 private:
  Kernel& prepared(std::string name, std::int64_t blocks, std::int64_t threads) {
    Kernel& k = module_.kernels.emplace_back();
    k.name = std::move(name);
    k.blocks = blocks;
    k.threads = threads;
    return k;
  }
  int buffer(Buffer b) {
    kernel().buffers.push_back(std::move(b));
    return static_cast<int>(kernel().buffers.size()) - 1;
  }

  Module module_;
  IndexMaker indices_;  // refers to the module's kernel, hence after it
};

// --- statements

inline Statement copy(Access to, Access from, std::int64_t elements = 1, std::vector<Guard> when = {},
                      std::vector<Guard> inside = {}) {
  return {Copy{std::move(to), std::move(from), elements, std::move(when), std::move(inside)}, {}};
}
inline Statement barrier() { return {Barrier{}, {}}; }
inline Statement loop_over(int index, std::vector<Statement> body, std::int64_t unroll = 1) {
  return {Loop{index, unroll, std::move(body)}, {}};
}
// to = from; it waits for `from`.
inline Statement assign(Access to, Access from) {
  return {Compute{std::move(to), expr::Reducer::kNone, {{.kind = expr::NodeKind::kRead}}, {std::move(from)}}, {}};
}
// to += value
inline Statement accumulate(Access to, Access value) {
  return {Compute{std::move(to), expr::Reducer::kSum, {{.kind = expr::NodeKind::kRead}}, {std::move(value)}}, {}};
}
// to += a * b
inline Statement multiply_add(Access to, Access a, Access b) {
  std::vector<expr::Node> body = {{.kind = expr::NodeKind::kRead, .index = 0},
                                  {.kind = expr::NodeKind::kRead, .index = 1},
                                  {.kind = expr::NodeKind::kMultiply, .left = 0, .right = 1}};
  return {Compute{std::move(to), expr::Reducer::kSum, std::move(body), {std::move(a), std::move(b)}}, {}};
}

}  // namespace tilescope::lower
