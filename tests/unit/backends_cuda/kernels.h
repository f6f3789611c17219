// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels made by hand, so that tests of the emitted text rest on nothing but the meaning that lower/kernel.h states.

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lower/affine.h"
#include "tests/support/build.h"
#include "tests/support/planting.h"

namespace tilescope::tests {

using lower::Affine;
using lower::Guard;

// A map that a test writes down.
inline arch::FragmentMap fragment_map(std::string_view text) {
  base::Diagnostics diags;
  const auto map = arch::fragment_map_of(text, diags);
  if (!map) throw std::runtime_error(diags.sentences().front());
  return *map;
}

// What a kernel says of an instruction of a chip.
inline lower::MatrixInstruction matrix_instruction(const arch::ArchSpec& chip, const arch::ComputeSpec& c) {
  const arch::Spelling spelling = c.spelling.value_or(arch::Spelling{});
  return {c.name,
          {c.m, c.n, c.k},
          c.threads.value_or(chip.core.warp),
          c.dtype,
          c.accumulate,
          c.fragments->a,
          c.fragments->b,
          c.fragments->c,
          spelling.cuda.value_or(""),
          spelling.hip.value_or("")};
}
inline lower::MatrixInstruction matrix_instruction(const arch::ArchSpec& chip, std::string_view name) {
  for (const arch::ComputeSpec& c : chip.compute)
    if (c.name == name) return matrix_instruction(chip, c);
  throw std::runtime_error("no such instruction");
}

// A module of one kernel that grows statement by statement.
class KernelMaker {
 public:
  KernelMaker(const std::string& name, std::int64_t blocks, std::int64_t threads)
      : maker_(start(name, blocks, threads)) {}

  int global(const std::string& name, std::int64_t elements, lower::Role role, base::Dtype dtype = base::Dtype::kF32) {
    module_.globals.push_back({name, dtype, elements, role});
    return buffer({name, lower::Space::kGlobal, dtype, elements, static_cast<int>(module_.globals.size() - 1), 0});
  }
  int shared(const std::string& name, std::int64_t elements, base::Dtype dtype = base::Dtype::kF32) {
    const std::int64_t begin = (kernel_.shared_bytes + 15) / 16 * 16;
    kernel_.shared_bytes = begin + elements * base::size_of(dtype).n;
    return buffer({name, lower::Space::kShared, dtype, elements, -1, begin});
  }
  int registers(const std::string& name, std::int64_t elements, base::Dtype dtype = base::Dtype::kF32) {
    return buffer({name, lower::Space::kRegister, dtype, elements, -1, 0});
  }

  Affine block() const { return maker_.block(); }
  Affine thread() const { return maker_.thread(); }
  int loop(const std::string& name, std::int64_t extent) { return maker_.loop(name, extent); }
  Affine at(int loop) const { return maker_.value(loop); }
  Affine quotient(const Affine& a, std::int64_t divisor, std::int64_t modulus, const std::string& name) {
    return maker_.quotient(a, divisor, modulus, name);
  }

  lower::Kernel& kernel() { return kernel_; }
  lower::Module& module() { return module_; }
  lower::Module finish(Body body) {
    kernel_.body = std::move(body);
    module_.kernels.push_back(std::move(kernel_));
    return std::move(module_);
  }

 private:
  lower::IndexMaker start(const std::string& name, std::int64_t blocks, std::int64_t threads) {
    kernel_.name = name;
    kernel_.blocks = blocks;
    kernel_.threads = threads;
    return lower::IndexMaker(kernel_);
  }
  int buffer(lower::Buffer b) {
    kernel_.buffers.push_back(std::move(b));
    return static_cast<int>(kernel_.buffers.size() - 1);
  }

  lower::Module module_;
  lower::Kernel kernel_;
  lower::IndexMaker maker_;
};

inline lower::Statement copy(int to, const Affine& to_offset, int from, const Affine& from_offset,
                             std::int64_t elements = 1, std::vector<Guard> when = {}, std::vector<Guard> inside = {}) {
  return {lower::Copy{{to, to_offset}, {from, from_offset}, elements, std::move(when), std::move(inside)}, {}};
}
inline lower::Statement asynchronous(lower::Statement s) {
  std::get<lower::Copy>(s.what).asynchronous = true;
  return s;
}
inline lower::Statement noted(lower::Statement s, const std::string& note) {
  s.note = note;
  return s;
}
inline lower::Statement looped(int index, Body body, std::int64_t unroll = 0) {
  return {lower::Loop{index, unroll, std::move(body)}, {}};
}

inline expr::Node number(double v) { return {.kind = expr::NodeKind::kNumber, .number = v}; }
inline expr::Node scalar(int s) { return {.kind = expr::NodeKind::kScalar, .index = s}; }
inline expr::Node operand(int n) { return {.kind = expr::NodeKind::kRead, .index = n}; }
inline expr::Node node(expr::NodeKind kind, int left, int right = -1) {
  return {.kind = kind, .left = left, .right = right};
}
inline expr::Node call(expr::Function f, int left, int right = -1) {
  return {.kind = expr::NodeKind::kCall, .function = f, .left = left, .right = right};
}
inline lower::Statement compute(lower::Access target, expr::Reducer reducer, std::vector<expr::Node> body,
                                std::vector<lower::Access> operands) {
  return {lower::Compute{std::move(target), reducer, std::move(body), std::move(operands)}, {}};
}

}  // namespace tilescope::tests
