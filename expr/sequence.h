// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators that run one after another: which of their tensors are the same array.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "expr/expression.h"
#include "expr/parse.h"

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
  // Adds an operator, whose id no other one of its list has. An input that is not the operator's, and a tensor that no
  // earlier operator has or that has another size, are errors at the given input's place. One that does not run has its
  // tensors too, which nothing has brought into a cache.
  void add(const std::string& id, const Expression& e, const std::vector<GivenInput>& inputs, base::Diagnostics& diags,
           bool runs = true);
  // Adds an operator of which the arrays of all inputs and results are known, each by its tensor's name: those of a
  // network, alone in its list. Tensors without one, and all but the first of one array, are the operator's own.
  void add(const Expression& e, const std::map<std::string, std::string>& arrays);
  // Adds an operator that could not be built, for the mistakes of given inputs alone: sizes are not known, and without
  // stages no tensors either.
  void add_unbuilt(const std::string& id, const std::optional<std::vector<ParsedStage>>& stages,
                   const std::vector<GivenInput>& inputs, base::Diagnostics& diags);
  // Another list of operators follows: its given inputs name operators of its own, which may have ids of earlier lists.
  void begin_list() { lists_.push_back(operators_.size()); }

  std::size_t count() const { return operators_.size(); }
  // The array of the tensor of that name in the operator that was added as number `op`: "ID.NAME" of the operator that
  // has it first, and before it the number of a list that is not the first: "2:ID.NAME".
  std::string array_of(std::size_t op, const std::string& tensor) const;
  // By tensor of the operator, where it comes from: the array of an earlier operator.
  const std::map<std::string, std::string>& shared(std::size_t op) const { return operators_[op].shared; }

  // Bytes of all arrays of operators that run; tensors between stages of an operator do not count, and of a network
  // those that no operator writes: the others need not all be there at a time.
  double bytes() const { return bytes_; }

 private:
  struct Operator {
    std::string id;
    std::string prefix;                     // of its list
    std::string result;                     // empty where no tensor is known
    std::map<std::string, Tensor> tensors;  // inputs and the result
    std::map<std::string, std::string> shared;
  };

  // Bytes of arrays that no operator before has.
  void count_last();
  // Adds an operator with its result alone, whose inputs are those in the order in which stages read them.
  void add(Operator op, const std::vector<Tensor>& inputs, const std::vector<GivenInput>& given,
           base::Diagnostics& diags);
  // The array that a given input names; nullopt after an error, and where the tensors of that operator are not known.
  std::optional<std::string> array_of(const GivenInput& input, const Tensor& own, base::Diagnostics& diags) const;
  // The result of the latest operator that has one of this name and size.
  std::optional<std::string> result_named(const Tensor& own) const;

  std::vector<Operator> operators_;
  std::vector<std::size_t> lists_;  // first operators of those that were begun
  std::set<std::string> counted_;   // arrays of operators that run
  double bytes_ = 0;
};

}  // namespace tilescope::expr
