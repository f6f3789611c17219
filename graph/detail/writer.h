// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the stages of one node: axes, reads, temporary tensors, outputs. A family of kinds of nodes is a function of
// graph/families that calls it.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graph/operator.h"

namespace tilescope::graph {

// Why a node has no stages. It leaves the functions that write them.
class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The same where the file contradicts itself.
class Contradiction : public Refusal {
 public:
  using Refusal::Refusal;
};

// Integers of a file are held within these: sums of them fit 64 bits, and no size is as great.
inline constexpr std::int64_t kGreatestInteger = std::int64_t{1} << 42;

// a * b, refused where it does not fit 64 bits.
std::int64_t times(std::int64_t a, std::int64_t b);

// The notation has no tensors without dimensions.
inline Shape of_one_at_least(Shape shape) {
  if (shape.empty()) shape.push_back(1);
  return shape;
}

using Names = std::vector<std::string>;

class Writer {
 public:
  Writer(const ModelNode& node, const std::vector<std::optional<Operand>>& inputs, std::int64_t opset)
      : node_(node), inputs_(inputs), opset_(opset) {}

  // --- the node

  const std::string& kind() const { return node_.kind; }
  std::int64_t opset() const { return opset_; }
  std::size_t inputs() const { return inputs_.size(); }
  std::size_t outputs() const { return node_.outputs.size(); }
  bool has(std::size_t input) const { return input < inputs_.size() && inputs_[input].has_value(); }
  bool wants(std::size_t output) const { return output < node_.outputs.size() && !node_.outputs[output].empty(); }
  const Operand& input(std::size_t i) const;
  const Shape& shape(std::size_t i) const { return input(i).shape; }
  std::int64_t rank(std::size_t i) const { return std::ssize(shape(i)); }
  // The values of an input that a shape or an axis is made of.
  const std::vector<double>& values(std::size_t i) const;
  std::vector<std::int64_t> integers(std::size_t i) const;

  // Refuses indices, where their values are known, outside -extent .. extent-1.
  void check_places(std::size_t input, std::int64_t extent) const;

  bool has_attribute(std::string_view name) const { return node_.attributes.contains(*read_.emplace(name).first); }
  template <class T>
  T attribute(std::string_view name, T absent) const {
    const auto found = node_.attributes.find(*read_.emplace(name).first);
    if (found == node_.attributes.end()) return absent;
    if (const T* value = std::get_if<T>(&found->second)) return *value;
    throw Contradiction(fmt::format("attribute '{}' has another type", name));
  }
  std::int64_t number(std::string_view name, std::int64_t absent) const {
    return std::clamp(attribute<std::int64_t>(name, absent), -kGreatestInteger, kGreatestInteger);
  }
  double real(std::string_view name, double absent) const { return attribute<double>(name, absent); }
  std::vector<std::int64_t> list(std::string_view name, std::vector<std::int64_t> absent = {}) const;
  // Attributes that nothing has asked for.
  std::vector<std::string> unread() const;
  // A list of `count` numbers, each `absent` where the attribute is; refused where one is outside least .. most.
  std::vector<std::int64_t> list_of(std::string_view name, std::size_t count, std::int64_t absent, std::int64_t least,
                                    std::int64_t most) const;
  // An axis counted from the end where it is negative.
  static std::int64_t axis_of(std::int64_t axis, std::int64_t rank);
  // Axes that an input or, before it became one, an attribute lists; nothing where neither does.
  std::optional<std::vector<std::int64_t>> axes_of(std::size_t in, std::string_view name, std::int64_t rank) const;

  // --- stages

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

  const ModelNode& node_;
  const std::vector<std::optional<Operand>>& inputs_;
  std::int64_t opset_;
  OperatorStages stages_;
  std::map<std::string, std::int64_t> sizes_;
  int temporaries_ = 0;
  mutable std::set<std::string> read_;  // attributes that were asked for
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
