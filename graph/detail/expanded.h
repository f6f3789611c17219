// SPDX-License-Identifier: Apache-2.0
#pragma once
// What graph/description/expand.cc needs beside blocks and lines: the tensors and numbers that a block sees, arithmetic
// over them, and names of kinds and elements.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "graph/detail/description.h"
#include "graph/model.h"
#include "graph/operator.h"

namespace tilescope::graph {

// A mistake was reported: what depends on its line is not looked at.
struct Broken {};

// A tensor that later lines can use.
struct KnownTensor {
  std::string name;  // in the network
  Element element{};
  Shape shape;
  std::shared_ptr<const std::vector<double>> values;  // of a constant that has some
  bool broken = false;                                // its line has a mistake
};

// What the lines of one use of a block see.
struct Scope {
  const Block* block = nullptr;
  std::string prefix;  // of names in the network
  std::map<std::string, KnownTensor, std::less<>> tensors;
  std::map<std::string, std::int64_t, std::less<>> numbers;
};

// Arithmetic over the numbers of a scope and the variables of the network. Mistakes are reported and thrown as Broken.
class Arithmetic {
 public:
  Arithmetic(const base::Map& variables, base::Diagnostics& diags) : variables_(variables), diags_(diags) {}

  void set(const std::string& variable, std::int64_t value) { values_[variable] = value; }

  std::optional<std::int64_t> find(std::string_view name, const Scope& scope) const;
  std::int64_t number(const Number& n, const Scope& scope) const;
  std::vector<std::int64_t> numbers(const std::vector<Number>& list, const Scope& scope) const;
  // Extents from 1.
  Shape shape(const std::vector<Number>& list, const Scope& scope) const;
  // The text of stages with numbers in place of braces, and blanks behind them that keep columns where they are.
  std::string filled(const Stages& s, const Scope& scope) const;

 private:
  std::string why_none(std::string_view name, const Scope& scope) const;
  [[noreturn]] void fail(base::Position at, std::string text) const;

  const base::Map& variables_;  // as they are written
  base::Diagnostics& diags_;
  std::map<std::string, std::int64_t, std::less<>> values_;
};

// `int64` and so on; `float` is that of the network's own real numbers.
std::optional<Element> element_named(std::string_view name);
// All of them but `float`.
std::string element_names();

// Kinds of nodes that a message suggests.
std::vector<std::string_view> kinds_to_suggest();

}  // namespace tilescope::graph
