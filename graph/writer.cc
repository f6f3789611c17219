// SPDX-License-Identifier: Apache-2.0
#include "graph/detail/writer.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "base/integer.h"

namespace tilescope::graph {
namespace {

// Beyond these the notation has no axes, and no loop would end.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;

Names of_one_at_least(Names at) {
  if (at.empty()) at.emplace_back("0");
  return at;
}

}  // namespace

std::string Writer::axis(std::int64_t size) {
  if (size < 1) throw Refusal("a tensor without elements");
  if (size >= kMaxElements) throw Contradiction(fmt::format("a dimension of {}", size));
  if (size > kMaxSize) throw Refusal(fmt::format("a dimension of {}", size));
  const std::string name = fmt::format("a{}", sizes_.size());
  sizes_[name] = size;
  stages_.sizes.emplace_back(name, size);
  return name;
}

Names Writer::axes(const Shape& shape) {
  Names out;
  for (const std::int64_t d : of_one_at_least(shape)) out.push_back(axis(d));
  return out;
}

std::int64_t Writer::size(const std::string& axis) const { return sizes_.at(axis); }

Shape Writer::sizes(const Names& axes) const {
  Shape out;
  for (const std::string& a : axes) out.push_back(size(a));
  return out;
}

std::string Writer::at(const std::string& tensor, const Names& at) {
  return fmt::format("{}[{}]", tensor, fmt::join(of_one_at_least(at), ","));
}

std::string Writer::named(std::size_t i, const Shape& as) {
  const Shape shape = of_one_at_least(as);
  if (elements_of(shape) != elements_of(input(i).shape))
    throw Contradiction(fmt::format("an input of {} as {}", fmt::join(input(i).shape, "x"), fmt::join(shape, "x")));
  if (elements_of(shape) == 0) throw Refusal("a tensor without elements");
  if (input(i).element == Element::kOther) throw Refusal("a tensor of another type than numbers");
  for (const InputOfStages& known : stages_.inputs)
    if (known.input == static_cast<int>(i) && known.shape == shape) return known.tensor;
  const std::string name = fmt::format("X{}", stages_.inputs.size());
  stages_.inputs.push_back({name, static_cast<int>(i), shape});
  return name;
}

std::string Writer::read(std::size_t i, const Names& at) { return read(i, input(i).shape, at); }

std::string Writer::read(std::size_t i, const Shape& as, const Names& at) { return Writer::at(named(i, as), at); }

std::string Writer::counted(const std::string& integer, std::int64_t extent) {
  return fmt::format("select({0} < 0, {0} + {1}, {0})", integer, extent);
}

void Writer::holds_indices(std::size_t i) {
  for (InputOfStages& known : stages_.inputs)
    if (known.input == static_cast<int>(i)) known.indices = true;
}

std::string Writer::coordinate(std::size_t i, const Names& axes, const Names& at, std::int64_t extent) {
  check_places(i, extent);
  const std::string integer = read(i, at);
  holds_indices(i);
  const std::vector<double>* known = input(i).values;
  if (known != nullptr && std::all_of(known->begin(), known->end(), [](double v) { return v >= 0; })) return integer;
  return Writer::at(stage(axes.empty() ? Names{axis(1)} : axes, "=", counted(integer, extent)), axes);
}

std::string Writer::broadcast(std::size_t i, const Names& at) {
  const Shape& own = shape(i);
  Names mine;
  for (std::size_t d = 0; d < own.size(); ++d) {
    const std::size_t from_end = own.size() - d;
    if (from_end > at.size()) throw Refusal("an operand of more dimensions than the result");
    mine.push_back(own[d] == 1 ? "0" : at[at.size() - from_end]);
  }
  return read(i, mine);
}

void Writer::add(const std::string& tensor, const Names& axes, std::string_view reducer, const std::string& body) {
  if (!stages_.text.empty()) stages_.text += "; ";
  stages_.text += fmt::format("{} {} {}", at(tensor, axes), reducer, body);
}

std::string Writer::stage(const Names& axes, std::string_view reducer, const std::string& body) {
  std::string name = fmt::format("T{}", temporaries_++);
  add(name, axes, reducer, body);
  return name;
}

Output& Writer::out(std::size_t n) {
  if (stages_.outputs.size() <= n) stages_.outputs.resize(n + 1);
  return stages_.outputs[n];
}

void Writer::output(std::size_t n, Element element, const Names& axes, std::string_view reducer,
                    const std::string& body) {
  output(n, element, sizes(axes), axes, reducer, body);
}

void Writer::output(std::size_t n, Element element, const Shape& shape, const Names& axes, std::string_view reducer,
                    const std::string& body) {
  Output& o = out(n);
  o.kind = Output::kStage;
  o.tensor = fmt::format("Y{}", n);
  o.written = sizes(axes);
  o.element = element;
  o.shape = shape;
  add(o.tensor, axes, reducer, body);
}

void Writer::view(std::size_t n, std::size_t in, const Shape& shape) {
  if (elements_of(shape) != elements_of(input(in).shape))
    throw Contradiction(fmt::format("{} elements as {}", elements_of(input(in).shape), fmt::join(shape, "x")));
  Output& o = out(n);
  o.kind = Output::kView;
  o.input = static_cast<int>(in);
  o.element = input(in).element;
  o.shape = shape;
}

void Writer::known(std::size_t n, Element element, const Shape& shape, std::vector<double> values) {
  if (std::ssize(values) != elements_of(shape)) throw Refusal("a constant without values");
  Output& o = out(n);
  o.kind = Output::kValues;
  o.element = element;
  o.shape = shape;
  o.values = std::move(values);
}

OperatorStages Writer::take() {
  for (const Output& o : stages_.outputs)
    if (const auto why = mistake_in(o.shape)) throw Contradiction("a result of " + *why);
  // Of axes that no stage has, notation takes no size.
  std::erase_if(stages_.sizes, [&](const auto& axis) {
    for (std::size_t at = stages_.text.find(axis.first); at != std::string::npos;
         at = stages_.text.find(axis.first, at + 1)) {
      const char behind = at + axis.first.size() < stages_.text.size() ? stages_.text[at + axis.first.size()] : ' ';
      if (behind < '0' || behind > '9') return false;
    }
    return true;
  });
  return std::move(stages_);
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  const auto product = base::checked_mul(a, b);
  if (!product) throw Contradiction(fmt::format("{} times {}, beyond 64 bits", a, b));
  return *product;
}

Shape broadcast_shape(const std::vector<Shape>& shapes) {
  std::size_t rank = 0;
  for (const Shape& s : shapes) rank = std::max(rank, s.size());
  Shape out(rank, 1);
  for (const Shape& s : shapes)
    for (std::size_t d = 0; d < s.size(); ++d) {
      std::int64_t& extent = out[rank - s.size() + d];
      if (s[d] == 1) continue;
      if (extent != 1 && extent != s[d])
        throw Contradiction(fmt::format("extents of {} and {} side by side", extent, s[d]));
      extent = s[d];
    }
  return out;
}

std::string text_of(double number) {
  if (std::isnan(number)) throw Refusal("a constant that is not a number");
  return number < 0 ? fmt::format("({})", number) : fmt::format("{}", number);
}

namespace {

// Why kinds that networks do have are not said.
std::string reason_without_stages(const std::string& kind) {
  if (kind == "LSTM" || kind == "GRU" || kind == "RNN") return "a recurrence over the steps of a sequence";
  if (kind == "Bernoulli" || kind.starts_with("Random") || kind == "Multinomial") return "random numbers";
  if (kind == "Compress" || kind == "NonZero" || kind == "Unique" || kind == "NonMaxSuppression")
    return "a result whose shape depends on values";
  if (kind.starts_with("Sequence") || kind.starts_with("Optional") || kind == "SplitToSequence" ||
      kind == "ConcatFromSequence")
    return "a sequence of tensors";
  if (const std::size_t dot = kind.rfind('.'); dot != std::string::npos)
    return fmt::format("an operator of the domain {}", kind.substr(0, dot));
  return std::string(kNoSuchKind);
}

}  // namespace

bool write_by_kind(Writer& w, const KindWriters& kinds) {
  const auto known = kinds.find(w.kind());
  if (known == kinds.end()) return false;
  known->second(w);
  return true;
}

std::optional<OperatorStages> stages_of(const ModelNode& node, const std::vector<std::optional<Operand>>& inputs,
                                        std::int64_t opset, NoStages& refusal, std::vector<std::string>* unread) {
  Writer w(node, inputs, opset);
  try {
    if (node.outputs.empty()) throw Contradiction("it has no outputs");
    if (node.written) return written_stages(*node.written, inputs);
    if (node.has_graph) throw Refusal("a graph inside the node");
    for (const auto write : {write_elementwise, write_reductions, write_normalisations, write_products, write_windows,
                             write_layouts, write_resizes, write_selections, write_quantisations})
      if (write(w)) {
        if (unread != nullptr) *unread = w.unread();
        return w.take();
      }
    refusal = {reason_without_stages(node.kind)};
  } catch (const Contradiction& why) {
    refusal = {why.what(), true};
  } catch (const Refusal& why) {
    refusal = {why.what()};
  } catch (const std::exception& why) {  // a list shorter than its node needs
    refusal = {fmt::format("its attributes and inputs contradict each other ({})", why.what()), true};
  }
  return std::nullopt;
}

}  // namespace tilescope::graph
