// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plain-loop reference defines the meaning of an expression; all other implementations are compared with it. It is
// slow and simple.

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

// Rounds to the nearest value of the dtype: ties go to even, for tf32 away from zero. Integers saturate, and
// not-a-number becomes 0. The 8-bit floats saturate. For f8e4m3 and f8e5m2 infinity saturates too, as PTX's
// cvt.satfinite does; for the fnuz pair, infinity becomes not-a-number and -0 becomes 0.
double round_to(base::Dtype dtype, double value);

// The greatest finite number of a float dtype.
double greatest_of(base::Dtype dtype);

// Whether every finite value of the other dtype is one of this one, so that a conversion changes nothing.
bool holds(base::Dtype dtype, base::Dtype other);

// The arithmetic in which a body is computed.
enum class Numbers : std::uint8_t {
  kReal,
  kInt32,  // 32 bits, two's complement: overflow wraps, as on chips, so that a sum has one value in any order
};

// kInt32 where all reads and the target of a reduction are integers, and no part of the body (a scalar, a quotient,
// exp) leaves the integers. `target` is the dtype of the accumulator, or of the result where nothing is reduced.
Numbers numbers_of(const std::vector<Node>& body, const std::vector<base::Dtype>& reads, Reducer reducer,
                   base::Dtype target);
// The same for a stage's body.
Numbers numbers_of(const Expression& e, const Stage& stage);

// The value before the first step of a reduction.
double identity(Reducer r);

// One step of a reduction, before rounding. A mean adds here, and its divisor is applied at the end.
double reduce(Reducer r, Numbers numbers, double so_far, double value);
// The same, where `value` is the last node of a body; a real product is added without being rounded first.
double reduce(Reducer r, Numbers numbers, double so_far, const std::vector<Node>& body,
              const std::vector<double>& nodes);

// The value of an operator, call or number of a body from the values of the nodes before it; the caller evaluates
// reads, scalars and indices. A real product that is an operand of a sum or difference is not rounded before the
// addition, as in a chip's multiply-add; of two products, the right one.
double apply(const std::vector<Node>& body, const Node& n, Numbers numbers, const std::vector<double>& nodes);

// Evaluates all stages on one thread. `tensors` holds the inputs, by tensor index, and receives every stage's output;
// `scalars` are by scalar index. Throws IndexError (expr/tables.h) where a table holds an index that is none. Time is
// the product of all axes.
void evaluate(const Expression& e, const std::vector<double>& scalars, std::vector<Values>& tensors);

// One element of a stage's output; `value_of` returns every element that is read inside its tensor. Throws as evaluate.
// Time is the product of the reduced axes.
double evaluate_element(const Expression& e, std::size_t stage, std::int64_t element,
                        const std::vector<double>& scalars,
                        const std::function<double(int tensor, std::int64_t element)>& value_of);

// Calls `visit` with the flat element index of every read of a stage that lies inside its tensor, in loop order, for
// brute-force checks of footprint and traffic. Tables hold drawn indices.
void visit_reads(const Expression& e, std::size_t stage,
                 const std::function<void(std::size_t read, std::int64_t element)>& visit);

}  // namespace tilescope::expr
