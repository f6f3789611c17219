// SPDX-License-Identifier: Apache-2.0
#pragma once
// C[m,n] = sum of A[m,k] * B[k,n], written by hand: blocks of 16x16 by 64 threads, tiles 8 deep in shared memory.

#include <algorithm>
#include <random>

#include "expr/reference.h"
#include "tests/unit/backends_cuda/kernels.h"

namespace tilescope::tests {

struct MatmulForm {
  std::int64_t m = 32, n = 32, k = 16;
  std::int64_t vector = 4;   // of copies to shared memory; divides k and n
  std::int64_t padding = 4;  // of the tiles' rows, a multiple of the vector
  bool asynchronous = false;
};

class MatmulMaker {
 public:
  static constexpr std::int64_t kTile = 16, kDeep = 8, kThreads = 64;

  explicit MatmulMaker(const MatmulForm& form)
      : f_(form), k_("matmul", ceil_div(form.m, kTile) * ceil_div(form.n, kTile), kThreads) {}

  lower::Module make() {
    a_ = k_.global("A", f_.m * f_.k, lower::Role::kInput);
    b_ = k_.global("B", f_.k * f_.n, lower::Role::kInput);
    c_ = k_.global("C", f_.m * f_.n, lower::Role::kOutput);
    a_tile_ = k_.shared("A_tile", kTile * a_pitch());
    b_tile_ = k_.shared("B_tile", kDeep * b_pitch());
    if (!f_.asynchronous) next_ = k_.registers("next", f_.vector);
    a_part_ = k_.registers("A_part", 2);
    b_part_ = k_.registers("B_part", 2);
    sum_ = k_.registers("C_sum", 4);
    m0_ = k_.quotient(k_.block(), ceil_div(f_.n, kTile), 0, "block_m") * kTile;
    n0_ = k_.quotient(k_.block(), 1, ceil_div(f_.n, kTile), "block_n") * kTile;
    row_ = k_.quotient(k_.thread(), 8, 0, "row");
    column_ = k_.quotient(k_.thread(), 1, 8, "column");

    Body body = zeros();
    const int step = k_.loop("step", ceil_div(f_.k, kDeep));
    body.push_back(looped(step, steps(k_.at(step) * kDeep)));
    for (lower::Statement& s : results()) body.push_back(std::move(s));
    return k_.finish(std::move(body));
  }

 private:
  static std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
  std::int64_t a_pitch() const { return kDeep + f_.padding; }
  std::int64_t b_pitch() const { return kTile + f_.padding; }

  Body zeros() {
    const int i = k_.loop("i", 4);
    Body inner;
    inner.push_back(compute({sum_, k_.at(i)}, expr::Reducer::kNone, {number(0)}, {}));
    Body out;
    out.push_back(looped(i, std::move(inner), 4));
    return out;
  }

  Body steps(const Affine& k0) {
    Body out;
    copy_tile(out, "A", kDeep, a_tile_, a_pitch(), a_, m0_, k0, f_.m, f_.k);
    copy_tile(out, "B", kTile, b_tile_, b_pitch(), b_, k0, n0_, f_.k, f_.n);
    if (f_.asynchronous) {
      out.push_back({lower::Commit{}, {}});
      out.push_back({lower::Wait{0}, {}});
    }
    out.push_back({lower::Barrier{}, "the tiles are whole"});
    const int k = k_.loop("k", kDeep);
    out.push_back(looped(k, products(k_.at(k)), kDeep));
    out.push_back({lower::Barrier{}, "the tiles are free"});
    return out;
  }

  // Thread t copies pieces t, t + 64, ... of a tile of 128 elements, `width` to a row.
  void copy_tile(Body& out, const std::string& name, std::int64_t width, int tile, std::int64_t pitch, int from,
                 const Affine& row0, const Affine& column0, std::int64_t rows, std::int64_t columns) {
    const std::int64_t pieces = kTile * kDeep / f_.vector, turns = ceil_div(pieces, kThreads);
    Body inner;
    const int turn = turns > 1 ? k_.loop(name + "_turn", turns) : -1;
    const Affine number = turns > 1 ? k_.at(turn) * kThreads + k_.thread() : k_.thread();
    const Affine row = k_.quotient(number, width / f_.vector, 0, name + "_row");
    const Affine column = k_.quotient(number, 1, width / f_.vector, name + "_column") * f_.vector;
    std::vector<Guard> when, inside;
    if (pieces % kThreads != 0) when.push_back({number, pieces});
    if (rows % kTile != 0 || rows % kDeep != 0) inside.push_back({row0 + row, rows});
    if (columns % kTile != 0 || columns % kDeep != 0) inside.push_back({column0 + column, columns});
    const Affine there = row * pitch + column, here = (row0 + row) * columns + column0 + column;
    if (f_.asynchronous) {
      inner.push_back(asynchronous(copy(tile, there, from, here, f_.vector, when, inside)));
    } else {
      inner.push_back(copy(next_, {}, from, here, f_.vector, when, inside));
      inner.push_back(copy(tile, there, next_, {}, f_.vector, when));
    }
    if (turns > 1) {
      out.push_back(noted(looped(turn, std::move(inner), turns), "copy " + name));
      return;
    }
    inner.front().note = "copy " + name;
    for (lower::Statement& s : inner) out.push_back(std::move(s));
  }

  // A thread computes rows row, row + 8 and neighbours column*2, column*2 + 1.
  Body products(const Affine& k) {
    const int i = k_.loop("im", 2), j = k_.loop("jn", 2);
    Body fragment, inner, out;
    fragment.push_back(copy(a_part_, k_.at(i), a_tile_, (row_ + k_.at(i) * 8) * a_pitch() + k));
    out.push_back(looped(i, std::move(fragment), 2));
    out.push_back(copy(b_part_, {}, b_tile_, k * b_pitch() + column_ * 2, 2));
    inner.push_back(compute({sum_, k_.at(i) * 2 + k_.at(j)}, expr::Reducer::kSum,
                            {operand(0), operand(1), node(expr::NodeKind::kMultiply, 0, 1)},
                            {{a_part_, k_.at(i)}, {b_part_, k_.at(j)}}));
    Body middle;
    middle.push_back(looped(j, std::move(inner), 2));
    out.push_back(looped(i, std::move(middle), 2));
    return out;
  }

  Body results() {
    const int i = k_.loop("im", 2);
    const Affine m = m0_ + row_ + k_.at(i) * 8, n = n0_ + column_ * 2;
    std::vector<Guard> when;
    if (f_.m % kTile != 0) when.push_back({m, f_.m});
    if (f_.n % kTile != 0) when.push_back({n, f_.n});
    Body inner, out;
    inner.push_back(copy(c_, m * f_.n + n, sum_, k_.at(i) * 2, 2, when));
    out.push_back(looped(i, std::move(inner), 2));
    return out;
  }

  MatmulForm f_;
  KernelMaker k_;
  int a_ = 0, b_ = 0, c_ = 0, a_tile_ = 0, b_tile_ = 0, next_ = 0, a_part_ = 0, b_part_ = 0, sum_ = 0;
  Affine m0_, n0_, row_, column_;
};

inline lower::Module matmul(const MatmulForm& form) { return MatmulMaker(form).make(); }

// Small whole numbers: sums are exact in whatever order.
inline expr::Values random_values(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  expr::Values out(static_cast<std::size_t>(count));
  for (double& v : out) v = static_cast<double>(random() % 17) - 8;
  return out;
}

// A, B and the C that they have.
inline std::vector<expr::Values> matmul_values(const MatmulForm& f) {
  std::vector<expr::Values> v = {random_values(f.m * f.k, 1), random_values(f.k * f.n, 2), {}};
  for (std::int64_t m = 0; m < f.m; ++m)
    for (std::int64_t n = 0; n < f.n; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < f.k; ++k)
        sum += v[0][static_cast<std::size_t>(m * f.k + k)] * v[1][static_cast<std::size_t>(k * f.n + n)];
      v[2].push_back(sum);
    }
  return v;
}

}  // namespace tilescope::tests
