// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random operators and random legal programs of them, drawn with rapidcheck (call inside a property: it prints the
// seed).

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <rapidcheck/gtest.h>

#include "expr/tables.h"
#include "tests/support/build.h"
#include "tile/program.h"
#include "tile/transfer/results.h"
#include "tile/transfer/vectors.h"

namespace tilescope::tests {

inline std::int64_t any_of_range(std::int64_t least, std::int64_t most) {
  return *rc::gen::inRange<std::int64_t>(least, most + 1);
}

template <class T>
T any_element(const std::vector<T>& values) {
  return values[static_cast<std::size_t>(any_of_range(0, static_cast<std::int64_t>(values.size()) - 1))];
}

struct Form {
  const char* op;
  const char* axes;
  const char* shape = "";  // of what sizes do not determine
};

// Dtypes of some of the tensors of an operator, as far as its arithmetic holds their values.
inline std::vector<expr::GivenDtype> any_dtypes(const expr::Expression& e) {
  using base::Dtype;
  std::vector<Dtype> known = {Dtype::kI8, Dtype::kI32};
  if (!base::is_integer(e.dtype))
    known.insert(known.end(), {Dtype::kF32, Dtype::kF16, Dtype::kBf16, Dtype::kF8E4M3, Dtype::kF8E5M2});
  if (e.dtype == Dtype::kF64) known.push_back(Dtype::kF64);
  const std::vector<int> tables = expr::tables_of(e);
  std::vector<expr::GivenDtype> out;
  for (const expr::Tensor& t : e.tensors) {
    const bool table = std::find(tables.begin(), tables.end(), &t - e.tensors.data()) != tables.end();
    if (any_of_range(0, 1) > 0) continue;
    out.push_back({t.name, table ? any_element<Dtype>({Dtype::kI8, Dtype::kU8, Dtype::kI32}) : any_element(known), {}});
    if (table)
      out.back().indices =
          expr::index_distribution_of(any_element<std::string>({"uniform", "sorted", "pages2", "pages3"}));
  }
  return out;
}

// The expression of a form, with small random sizes of up to `most` (3 of the window's axes r and s) and, in one of
// four, with dtypes of its tensors.
inline expr::Expression any_sized(const Form& form, std::int64_t most, base::Dtype dtype) {
  std::vector<std::string> sizes;
  for (const char* a = form.axes; *a != 0; ++a) {
    const bool window = (*a == 'r' || *a == 's');
    sizes.push_back(fmt::format("{}={}", *a, any_of_range(1, window ? 3 : most)));
  }
  const std::string all = fmt::format("{}", fmt::join(sizes, ","));
  expr::Expression e = expression(form.op, all, form.shape, dtype);
  return any_of_range(0, 3) > 0 ? e : expression(form.op, all, form.shape, dtype, any_dtypes(e));
}

inline base::Dtype any_float() {
  using base::Dtype;
  return any_element<Dtype>({Dtype::kF32, Dtype::kF32, Dtype::kF32, Dtype::kTf32, Dtype::kF16, Dtype::kBf16,
                             Dtype::kF64, Dtype::kF64, Dtype::kF8E4M3, Dtype::kF8E5M2, Dtype::kF8E4M3Fnuz,
                             Dtype::kF8E5M2Fnuz});
}
inline base::Dtype any_dtype() {
  return any_of_range(0, 2) > 0 ? any_float() : any_element<base::Dtype>({base::Dtype::kI8, base::Dtype::kI32});
}

// One operator of every kind.
inline expr::Expression any_operator(std::int64_t most) {
  static const std::vector<Form> kForms = {
      {"C[m,n] +=! A[m,k] * B[k,n]", "mnk"},
      {"C[b,m,n] +=! A[b,m,k] * B[b,k,n]", "bmnk"},
      {"O[n,f,y,x] +=! I[n,c,y+r,x+s] * W[f,c,r,s]", "nfyxcrs"},
      {"O[n,f,y,x] +=! I[n,c,y*2+r,x*2+s] * W[f,c,r,s]", "nfyxcrs"},
      {"O[n,c,y,x] +=! I[n,c,y+r,x+s] * W[c,r,s]", "ncyxrs"},
      {"O[n,f,y,x] +=! I[n,c,y,x] * W[f,c]", "nfyxc"},
      {"O[j,i] = I[i,j]", "ij"},
      {"O[a,b,c] = relu(I[a,b,c])", "abc"},
      {"O[i] +=! I[i,j,k]", "ijk"},
      {"O[i,j] = exp(I[i,j] - M[i])", "ij"},
      {"O[y,x] = I[y,x] + I[y,x+1] + I[y+1,x]", "yx"},
      {"O[i] max=! I[i*3+j]", "ij"},
      {"O[i] min=! I[i,j]", "ij"},
      {"O[i] mean=! I[j,i]", "ij"},
      {"O[i,j] +=! I[i/2,j] * W[k]", "ijk"},
      {"O[y,x] = I[x-y+64]", "yx"},
      {"O[i,j] = I[i,j] * alpha + beta * J[j]", "ij"},
      {"O[i] max=! I[i,j] * alpha - 1", "ij"},
      {"O[i,j] = (I[i,j] + 3) / 4", "ij"},
      {"O[i,j] = select(j <= i, I[i,j], -1)", "ij"},
      {"O[i] max=! max(I[i*2+r-1] else -inf, I[i*2+r])", "ir"},
      {"O[y,x] max=! min(I[y+r-1,x*2+s-2] else -3, I[y+r,x*2+s])", "yxrs"},
      {"O[i] +=! select((i + 1 - r) % 2 == 0, I[(i+1-r)/2], 0) * W[r]", "ir"},
      {"O[i,j] = I[i,j] + floor(i / 3) * (j % 2) - (i != j && I[i,j] >= 1)", "ij"},
      {"O[i] *=! I[i,r]", "ir"},
      {"O[i,j] = round(I[i,j] * 3) % 4 + sign(J[j,i])", "ij"},
  };
  // Sums of what is not whole round at every step where the sum is an integer: their order would matter.
  static const std::vector<Form> kFormsOfFloats = {
      {"C[m,n] +=! alpha * A[m,k] * B[k,n]", "mnk"},
      {"O[i] mean=! I[j,i] * alpha", "ij"},
  };
  if (any_of_range(0, 9) == 0) return any_sized(any_element(kFormsOfFloats), most, any_float());
  return any_sized(any_element(kForms), most, any_dtype());
}

// Coordinates that are read from tables: of rows, elements, columns, pages; of inputs and of what a stage computes; of
// what is reduced, and of the factor of a product.
inline expr::Expression any_gather(std::int64_t most) {
  static const std::vector<Form> kForms = {
      {"O[i,j] = E[T[i],j]", "ij", "E=5,6"},
      {"O[i,j] = E[T[i],j] + X[i,j]", "ij", "E=7,16"},
      {"O[i] = E[T[i]]", "i", "E=9"},
      {"O[k,i] = E[k,T[i]]", "ki", "E=4,7"},
      {"O[k,i,j] = E[k,T[i],j]", "kij", "E=9,3,8"},
      {"O[i,j,k] = relu(E[T[i,j],k])", "ijk", "E=6,8"},
      {"O[i,j] = E[i,T[j,i]]", "ij", "E=9,5"},
      {"O[b,j,k] = K[P[b,j/2],j%2,k]", "bjk", "K=7,2,4"},
      {"O[i,j] = E[T[i+1],j+1] * T[i]", "ij", "E=5,8"},
      {"O[i,j] = E[T[i],j] - E[U[j],i]", "ij", "E=5,9"},
      {"O[i,j] +=! E[T[i,k],j]", "ijk", "E=6,8"},
      {"O[i] max=! E[T[i*2+r]]", "ir", "E=5"},
      {"C[m,n] +=! A[T[m],k] * B[k,n]", "mnk", "A=5,8"},
      {"C[b,m,n] +=! X[P[b,m],k] * W[E[b],k,n]", "bmnk", "X=5,8;W=3,8,8"},
      {"S[b,p,s] +=! Q[b,d] * K[T[b,p],s,d]", "bpsd", "K=5,4,8"},
      {"O[b,d] +=! S[b,p,s] * V[T[b,p],s,d]", "bdps", "V=5,4,8"},
      {"S[b,j] +=! Q[b,d] * K[T[b,j/4],j%4,d]", "bjd", "K=5,4,8"},
      {"O[b,d] +=! S[b,j] * V[T[b,(j+1)/4],(j+1)%4,d]", "bdj", "V=5,4,8"},
      {"U[i] = i % 3 + 1; O[i,j] = E[U[i],j]", "ij", "E=4,8"},
  };
  return any_sized(any_element(kForms), most, any_dtype());
}

// Several stages, of which later ones read what earlier ones wrote. Sums are of what is exact, so that their order does
// not matter.
inline expr::Expression any_chain(std::int64_t most) {
  static const std::vector<Form> kForms = {
      {"T[m,n] +=! A[m,k] * B[k,n]; O[m,n] = relu(T[m,n] + D[n])", "mnk"},
      {"S[i] max=! I[i,j]; D[i,j] = I[i,j] - S[i]; Z[i] +=! D[i,j]; O[i,j] = exp(D[i,j]) / (Z[i] - 1)", "ij"},
      {"T[i,j] = I[i,j] * alpha; O[j] max=! T[i,j] * alpha + beta", "ij"},
      {"T[i,j] = relu(I[i,j]); O[y,x] +=! T[y+r,x+s] * W[r,s]", "ijyxrs"},
  };
  return any_sized(any_element(kForms), most, any_dtype());
}

inline tile::AxisCollapse any_collapse(const expr::Expression& e) {
  switch (any_of_range(0, 2)) {
    case 0:
      return tile::no_collapse(e.stages.front());
    case 1:
      return tile::contiguous_collapse(e);
    default:
      return tile::contraction_collapse(e).value_or(tile::contiguous_collapse(e));
  }
}

// The program with its results leaving directly or, in one of three, through the scratchpad; then by TMA stores in one
// of two, where the chip and the tensor allow them.
inline tile::StageProgram any_stores(tile::StageProgram p, const arch::ArchSpec& chip) {
  if (any_of_range(0, 2) > 0) return p;
  if (chip.core.tma && any_of_range(0, 1) == 0)
    if (auto stored = tile::with_tma_stores(p, {any_element<std::int64_t>({16, 32, 64, 128})}, chip)) return *stored;
  p = tile::with_row_stores(std::move(p), any_element<std::int64_t>({0, 0, 1, 4, 8}), {16});
  p.operands.back().vector = any_element<std::int64_t>({1, p.operands.back().vector});
  return p;
}

// A program that means something, though not one that a person would choose.
inline tile::StageProgram any_program(const expr::Expression& e, std::int64_t max_threads) {
  const auto space = tile::make_space(e, any_collapse(e));
  base::FixedVector<tile::AxisMapping, tile::kMaxAxes> mapping;
  std::int64_t threads = 1;
  for (std::size_t a = 0; a < space->spatial; ++a) {
    tile::AxisMapping m{any_element<std::int64_t>({1, 1, 2, 3}), any_element<std::int64_t>({1, 2, 3, 4, 8, 16, 32}),
                        any_element<std::int64_t>({1, 1, 2, 4})};
    if (threads * m.threads > max_threads) m.threads = 1;
    threads *= m.threads;
    mapping.push_back(m);
  }
  tile::Extents step(space->axes.size(), 1);
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a) step[a] = any_of_range(1, space->axes[a].extent);
  tile::StageProgram p = tile::make_stage_program(space, mapping, step, {16});
  for (std::size_t i = p.thread_order.size(); i-- > 1;)
    std::swap(p.thread_order[i],
              p.thread_order[static_cast<std::size_t>(any_of_range(0, static_cast<std::int64_t>(i)))]);
  for (std::size_t i = p.reduction_order.size(); i-- > 1;)
    std::swap(p.reduction_order[i],
              p.reduction_order[static_cast<std::size_t>(any_of_range(0, static_cast<std::int64_t>(i)))]);
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a)
    if (any_of_range(0, 3) == 0) p.split[a] = any_of_range(1, space->axes[a].extent);
  if (any_of_range(0, 1) == 0)
    for (std::size_t a = space->spatial; a < space->axes.size(); ++a)
      if (const std::int64_t n = any_of_range(1, 4); p.iterations_along(a) % n == 0) p.thread[a] = n;
  if (any_of_range(0, 2) == 0)
    for (std::size_t a = space->spatial; a < space->axes.size(); ++a) {
      const auto sharers = any_element<std::int64_t>({1, 2, 3, 4, 8, 32, 64});
      if (sharers == 1 || p.threads() * sharers > max_threads) continue;
      p.reduction_threads[a] = sharers;
      p.block[a] = sharers * p.thread[a] * any_of_range(1, 2);
    }
  for (std::size_t i = 0; i < space->operand_count(); ++i) {
    const bool cached = i < space->values && any_of_range(0, 3) > 0;
    p.operands[i] = {cached, cached ? any_of_range(0, 8) : 0, 1, cached ? any_element<std::int64_t>({0, 0, 1, 4}) : 0,
                     cached && any_of_range(0, 3) == 0};
    p.operands[i].vector = any_element<std::int64_t>({1, tile::default_vector(p, i, {16})});
  }
  p.unroll = any_of_range(0, 512);
  p.registers = any_of_range(0, 255);
  p.num_stages = any_of_range(1, 3);
  p.block_order = any_element<tile::BlockOrder>({tile::BlockOrder::kRow, tile::BlockOrder::kColumn});
  if (const auto grouped = p.grouped_axis())
    if (const std::int64_t rows = any_of_range(1, 4); p.blocks_along(*grouped) % rows == 0) p.group_m = rows;
  return p;
}

// A program of an operator, a chain or a gather, for the chip.
inline tile::RProgram any_rprogram(const arch::ArchSpec& chip, std::int64_t most, std::int64_t max_threads) {
  const auto kind = any_of_range(0, 6);
  const expr::Expression e = kind > 1 ? any_operator(most) : kind > 0 ? any_chain(most) : any_gather(most);
  tile::RProgram p{chip.name, {}, {}};
  for (std::size_t s = 0; s < e.stages.size(); ++s)
    p.simt().push_back(any_stores(any_program(expr::single_stage(e, s), max_threads), chip));
  return p;
}

}  // namespace tilescope::tests
