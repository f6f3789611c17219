// SPDX-License-Identifier: Apache-2.0
#pragma once
// A network's description as it is written: blocks of lines, with arithmetic that is not evaluated yet. A block is read
// once and used as often as the network repeats it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::graph {

// Arithmetic over variables (expr/arithmetic.h).
struct Number {
  std::string text;
  base::Position at;
};

struct Call;

// A tensor by its name; where no tensor has it, a number.
struct Named {
  std::string name;
};
// `weight[out, in]`: a constant without values; with the label `input` an input of the network, with that of a
// distribution (expr/index_draw.h) an input of indices.
struct NewTensor {
  std::string label;
  std::vector<Number> shape;
};
// `[0, -1]` or `3`: a constant of whole numbers.
struct Wholes {
  std::vector<Number> numbers;
  bool scalar = false;
};
// `0.5` or `[0.5, 1.0]`: a constant of real ones.
struct Reals {
  std::vector<double> numbers;
  bool scalar = false;
};

struct Argument {
  std::variant<Named, NewTensor, Wholes, Reals, std::vector<Call>> is;  // of calls one
  base::Position at;
};

struct Setting {
  std::string name;
  std::variant<Number, double, std::string, std::vector<Number>, std::vector<double>> value;
  base::Position at;
};

// `Conv(x, weight[64, 3, 7, 7], strides=[2, 2])`, of one of ONNX's kinds or of a block.
struct Call {
  std::string name;
  base::Position at;
  std::vector<Argument> arguments;
  std::vector<Setting> settings;
  std::optional<Number> times;
};

// `S[i,j] +=! A[i,k] * B[k,j] for i=4 * n`. `{4 * n}` in the text is the number that it comes to.
struct Stages {
  std::string text;
  base::Position at;
  std::vector<std::pair<std::string, Number>> sizes;
};

struct Target {
  std::string name;
  base::Position at;
};

struct Line {
  base::Position at;
  std::vector<Target> targets;
  std::variant<Argument, Stages> what;
};

// A tensor that a block takes. A name in its shape that nothing else has is the extent that the tensor has there.
struct Taken {
  std::string name;
  std::optional<std::vector<Number>> shape;
  base::Position at;
};

struct Block {
  std::string name;
  base::Position at;
  std::vector<Taken> takes;
  std::vector<std::pair<std::string, std::optional<Number>>> sizes;  // with what they are where a use gives none
  std::vector<Line> nodes;
  std::vector<Target> gives;    // the results of the last line where there are none
  std::vector<Target> outputs;  // of the network
  // Whether it is used once for each of the requests: what it takes as [batch, new, ...] has their tokens as its rows.
  // What it gives has the sequences as its first dimension and any number of tokens of each as its second.
  bool each_request = false;
};

// An input of the network: `[batch, 3, image, image]` of real numbers, `int64[batch, seq]`, `sorted[blocks]` of indices
// that are distributed so.
struct DescribedInput {
  std::string name, element;
  std::vector<Number> shape;
  base::Position at;
};

// All of a file and of those that it extends.
struct Description {
  std::string about;
  base::Map variables;  // their texts are at the places that `at` names
  std::vector<DescribedInput> inputs;
  std::vector<Block> blocks;
  Block whole;  // the nodes and outputs of the network itself
};

// The line that begins at `at`; nullopt after errors.
std::optional<Line> parse_line(std::string_view text, base::Position at, base::Diagnostics& diags);

// Letters, digits and underscores, with no digit first.
bool is_word(std::string_view text);

// Everything of a file and of those that it extends; nullopt after errors.
std::optional<Description> read_description(std::string_view name, base::Diagnostics& diags);
std::optional<Description> parse_description(std::string_view text, const std::string& name, base::Diagnostics& diags);

}  // namespace tilescope::graph
