// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the stages of the node that it reads: axes, reads, temporary tensors, outputs. A family of kinds of nodes is a
// function of graph/families that calls it.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/detail/node_reader.h"

namespace tilescope::graph {

// a * b, refused where it does not fit 64 bits.
std::int64_t times(std::int64_t a, std::int64_t b);

// The notation has no tensors without dimensions.
inline Shape of_one_at_least(Shape shape) {
  if (shape.empty()) shape.push_back(1);
  return shape;
}

using Names = std::vector<std::string>;

class Writer : public NodeReader {
 public:
  using NodeReader::NodeReader;

  // A new axis; axes for every dimension of a shape.
  std::string axis(std::int64_t size);
  Names axes(const Shape& shape);
  std::int64_t size(const std::string& axis) const;
  Shape sizes(const Names& axes) const;

  // A read of an input, or of what a stage of this node has written. `else` may follow.
  std::string read(std::size_t input, const Names& at);
  // An input read in another shape of as many elements.
  std::string read(std::size_t input, const Shape& as, const Names& at);
  static std::string at(const std::string& tensor, const Names& at);
  // A coordinate below `extent` that an input holds at these places, negative integers counted from the end. `axes` are
  // those that vary among them. Integers that may be negative make a table of their own first.
  std::string coordinate(std::size_t input, const Names& axes, const Names& at, std::int64_t extent);
  // An integer counted from the end where it is negative.
  static std::string counted(const std::string& integer, std::int64_t extent);
  // Says that an input holds nothing but indices.
  void holds_indices(std::size_t input);
  // Input of numpy's rules: aligned at the last dimension, extents of 1 repeated.
  std::string broadcast(std::size_t input, const Names& at);

  // Adds a stage that writes a temporary tensor, whose name is returned.
  std::string stage(const Names& axes, std::string_view reducer, const std::string& body);
  // Adds one that writes an output, in the shape of the axes or in another one of as many elements.
  void output(std::size_t n, Element element, const Names& axes, std::string_view reducer, const std::string& body);
  void output(std::size_t n, Element element, const Shape& shape, const Names& axes, std::string_view reducer,
              const std::string& body);
  void view(std::size_t n, std::size_t input, const Shape& shape);
  void known(std::size_t n, Element element, const Shape& shape, std::vector<double> values);

  OperatorStages take();

 private:
  std::string named(std::size_t input, const Shape& as);
  void add(const std::string& tensor, const Names& axes, std::string_view reducer, const std::string& body);
  Output& out(std::size_t n);

  OperatorStages stages_;
  std::map<std::string, std::int64_t> sizes_;
  int temporaries_ = 0;
};

// The shape that numpy's rules give operands of these.
Shape broadcast_shape(const std::vector<Shape>& shapes);

// "0.1"; infinity and negative numbers in parentheses.
std::string text_of(double number);

// A real number as the nearest integer of its scale, from the zero point on and within the element's range. The
// quotient is a stage over the axes: it is rounded before it is one of whole numbers, as those are published that it is
// compared with.
std::string quantised(Writer& w, const Names& at, const std::string& real, const std::string& scale,
                      const std::string& zero, Element element);

// Writes the node by the function of its kind; false where it is none of these.
using KindWriters = std::map<std::string_view, void (*)(Writer&)>;
bool write_by_kind(Writer& w, const KindWriters& kinds);

// Stages that a description writes itself.
OperatorStages written_stages(const WrittenStages& written, const std::vector<std::optional<Operand>>& inputs);

// Families of kinds. Each returns whether the node's kind is one of its own.
bool write_elementwise(Writer& w);
bool write_reductions(Writer& w);
bool write_normalisations(Writer& w);
bool write_products(Writer& w);
bool write_windows(Writer& w);
bool write_layouts(Writer& w);
bool write_resizes(Writer& w);
bool write_selections(Writer& w);
bool write_quantisations(Writer& w);

}  // namespace tilescope::graph
