// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one node says: its inputs, where their values count, and its attributes, of which it is known which were read.

#include <algorithm>
#include <cstdint>
#include <optional>
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

class NodeReader {
 public:
  NodeReader(const ModelNode& node, const std::vector<std::optional<Operand>>& inputs, std::int64_t opset)
      : node_(node), inputs_(inputs), opset_(opset) {}

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

 private:
  const ModelNode& node_;
  const std::vector<std::optional<Operand>>& inputs_;
  std::int64_t opset_;
  mutable std::set<std::string> read_;  // attributes that were asked for
};

}  // namespace tilescope::graph
