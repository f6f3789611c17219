#pragma once
// The plain-loop reference: what an expression means, to which every other reader is compared. Slow and obvious.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "expr/expression.h"

namespace tilescope::expr {

// Values of one tensor, row-major. All dtypes are held as double; evaluation rounds to the tensor's dtype on every
// store and to the accumulator on every reduction step, in the order of the axes (last reduced axis fastest).
using Values = std::vector<double>;

// Rounds to the nearest value of the dtype (ties to even; integers saturate).
double round_to(base::Dtype dtype, double value);

// One step of a reduction, before it is rounded; a mean adds, and divides at its end.
double reduce(Reducer r, double so_far, double value);

// The value of an operator, call or number of a stage's body from those of the nodes before it; reads and scalars are
// the caller's.
double apply(const Node& n, const std::vector<double>& nodes);

// Evaluates all stages. `tensors` holds the inputs, by tensor index, and receives every stage's output; `scalars` are
// by scalar index. One thread; time is the product of all axes.
void evaluate(const Expression& e, const std::vector<double>& scalars, std::vector<Values>& tensors);

// Calls `visit` with the flat element index of every read of a stage that lies inside its tensor, in loop order: what
// brute-force checks of footprint and traffic count.
void visit_reads(const Expression& e, std::size_t stage,
                 const std::function<void(std::size_t read, std::int64_t element)>& visit);

}  // namespace tilescope::expr
