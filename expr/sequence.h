// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators that run one after another: which of their tensors are the same array.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "expr/expression.h"

namespace tilescope::expr {

// An input that is a tensor of an earlier operator, as a suite's file says it: `X: up`, the result of `up`, or
// `X: up.A`.
struct GivenInput {
  std::string tensor;
  std::string from;
  base::Position at;
};

// Finds which inputs are tensors of earlier operators. In this order: given ones; inputs with the name of an earlier
// operator's result, of the latest one; and of the operator directly before, the result, which is the first of the
// other inputs that has as many elements of the same dtype. A tensor that is found so has the same number of bytes.
class TensorsOfSequence {
 public:
  // Adds an operator, whose id no other one has. An input that is not the operator's, and a tensor that no earlier
  // operator has or that has another size, are errors at the given input's place.
  void add(const std::string& id, const Expression& e, const std::vector<GivenInput>& inputs, base::Diagnostics& diags);

  // The array of the tensor of that name in the operator that was added as number `op`: "ID.NAME" of the operator that
  // has it first.
  std::string array_of(std::size_t op, const std::string& tensor) const;
  // By tensor of the operator, where it comes from: the array of an earlier operator.
  const std::map<std::string, std::string>& shared(std::size_t op) const { return operators_[op].shared; }

  // Bytes of all arrays; tensors between stages of an operator do not count.
  double bytes() const { return bytes_; }

 private:
  struct Operator {
    std::string id;
    std::string result;
    std::map<std::string, Tensor> tensors;  // inputs and the result
    std::map<std::string, std::string> shared;
  };

  // The array that a given input names; nullopt after an error.
  std::optional<std::string> array_of(const GivenInput& input, const Tensor& own, base::Diagnostics& diags) const;
  // The result of the latest operator that has one of this name and size.
  std::optional<std::string> result_named(const Tensor& own) const;

  std::vector<Operator> operators_;
  double bytes_ = 0;
};

}  // namespace tilescope::expr
