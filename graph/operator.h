// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a node of a network computes, in index notation.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "expr/expression.h"
#include "graph/model.h"
#include "graph/tensor.h"

namespace tilescope::graph {

// An input of a node. Its values are there where they are known before the network runs, as those of a shape are.
struct Operand {
  Element element = Element::kOther;
  Shape shape;
  const std::vector<double>* values = nullptr;
  bool elsewhere = false;  // a constant whose values are in a file of their own
};

// Tensors of the notation have at least one dimension: a scalar is one of extent 1.
struct NamedShape {
  std::string name;
  Shape shape;
};

// Where an output of the node comes from.
struct Output {
  enum Kind : std::uint8_t { kStage, kView, kValues } kind = kStage;
  std::string tensor;          // kStage: its name in the text
  Shape written;               // kStage: the extents of its axes in the text, as many elements as `shape`
  int input = 0;               // kView: the same elements in the same order as this input's
  std::vector<double> values;  // kValues
  Element element{};
  Shape shape;
};

struct InputOfStages {
  std::string tensor;    // its name in the text
  int input = 0;         // of the node
  Shape shape;           // as many elements as the input has
  bool indices = false;  // it holds nothing but coordinates of other inputs
};

// The stages of a node: notation with the sizes of all axes and the shapes of all inputs.
struct OperatorStages {
  std::string text;                                         // empty where outputs are views and values alone
  std::vector<std::pair<std::string, std::int64_t>> sizes;  // of axes, each of whose names one stage has
  std::vector<InputOfStages> inputs;
  std::vector<Output> outputs;
};

// Why a node has no stages.
struct NoStages {
  std::string why;
  bool mistake = false;  // of the file, whose shapes and attributes contradict each other; else the notation has none
};

// The stages of a node; inputs that are left out are nullopt. Where it has none, nullopt and the reason in `refusal`.
// `unread`, if given, receives the attributes that the kind has no use for.
std::optional<OperatorStages> stages_of(const ModelNode& node, const std::vector<std::optional<Operand>>& inputs,
                                        std::int64_t opset, NoStages& refusal,
                                        std::vector<std::string>* unread = nullptr);

// The reason of a kind that is none.
inline constexpr std::string_view kNoSuchKind = "no such operator is known";

// How tables call nodes that are written in index notation.
inline constexpr std::string_view kWrittenKind = "notation";

// Written stages with the shapes of their inputs as an expression; mistakes are at their columns of the text, which
// begins at `at`.
std::optional<expr::Expression> build_written(const WrittenStages& written,
                                              const std::vector<std::optional<Operand>>& inputs, base::Position at,
                                              base::Diagnostics& diags);

}  // namespace tilescope::graph
