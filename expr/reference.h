// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plain-loop reference: what an expression means, to which every other reader is compared. Slow and obvious.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "expr/expression.h"

namespace tilescope::expr {

// Values of one tensor, row-major. All dtypes are held as double; evaluation rounds to the tensor's dtype on every
// store and to the accumulator on every reduction step, in the order of the axes (last reduced axis fastest).
using Values = std::vector<double>;

// Rounds to the nearest value of the dtype: ties to even, of tf32 away from zero. Integers saturate, and not-a-number
// becomes 0. The 8-bit floats saturate: f8e4m3 and f8e5m2 from infinity too, as PTX's cvt.satfinite does; of the fnuz
// pair, infinity becomes not-a-number and -0 becomes 0.
double round_to(base::Dtype dtype, double value);

// The greatest finite number of a float dtype.
double greatest_of(base::Dtype dtype);

// The numbers that a body is computed in.
enum class Numbers : std::uint8_t {
  kReal,
  kInt32,  // 32 bits, two's complement: what exceeds them wraps, as on chips, so that sums have one value in any order
};

// kInt32 where everything that is read, and what a reduction adds to, is an integer, and nothing of the body (a scalar,
// a quotient, exp) leaves them. `target` is the dtype of the accumulator, or of the result where nothing is reduced.
Numbers numbers_of(const std::vector<Node>& body, const std::vector<base::Dtype>& reads, Reducer reducer,
                   base::Dtype target);
// Of a stage's body.
Numbers numbers_of(const Expression& e, const Stage& stage);

// The value before the first step of a reduction.
double identity(Reducer r);

// One step of a reduction, before it is rounded; a mean adds, and divides at its end.
double reduce(Reducer r, Numbers numbers, double so_far, double value);
// The same with the last of a body's values; a real product is added without being rounded first.
double reduce(Reducer r, Numbers numbers, double so_far, const std::vector<Node>& body,
              const std::vector<double>& nodes);

// The value of an operator, call or number of a body from those of the nodes before it; reads and scalars are the
// caller's. A real product that a sum or difference takes is not rounded before it is added, as multiply-adds of chips
// have it: of two products, the right one.
double apply(const std::vector<Node>& body, const Node& n, Numbers numbers, const std::vector<double>& nodes);

// Evaluates all stages. `tensors` holds the inputs, by tensor index, and receives every stage's output; `scalars` are
// by scalar index. One thread; time is the product of all axes.
void evaluate(const Expression& e, const std::vector<double>& scalars, std::vector<Values>& tensors);

// One element of what a stage writes; `value_of` is asked for every element that is read inside its tensor. Time is the
// product of the reduced axes.
double evaluate_element(const Expression& e, std::size_t stage, std::int64_t element,
                        const std::vector<double>& scalars,
                        const std::function<double(int tensor, std::int64_t element)>& value_of);

// Calls `visit` with the flat element index of every read of a stage that lies inside its tensor, in loop order: what
// brute-force checks of footprint and traffic count.
void visit_reads(const Expression& e, std::size_t stage,
                 const std::function<void(std::size_t read, std::int64_t element)>& visit);

}  // namespace tilescope::expr
