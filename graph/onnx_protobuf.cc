// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <new>
#include <onnx/onnx_pb.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "expr/element_bytes.h"
#include "graph/onnx.h"

namespace tilescope::graph {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;

// A message nests only so deep before it is no model.
constexpr int kMaxMessageDepth = 64;

// Memory of one message. A file of empty messages would be a hundred times as large as messages.
thread_local std::size_t memory_left = 0;
void* allocate(std::size_t bytes) {
  if (bytes > memory_left) throw std::bad_alloc();
  memory_left -= bytes;
  return ::operator new(bytes);
}
void release(void* block, std::size_t bytes) {
  memory_left += bytes;
  ::operator delete(block);
}

google::protobuf::ArenaOptions limited_memory(std::uintmax_t size) {
  constexpr std::size_t kLeast = std::size_t{1} << 29, kBytesPerByte = 8;
  memory_left = std::max<std::size_t>(kLeast, kBytesPerByte * size);
  google::protobuf::ArenaOptions out;
  out.block_alloc = allocate;
  out.block_dealloc = release;
  return out;
}

Element element_of(int type) {
  switch (type) {
    case TensorProto::FLOAT:
      return Element::kF32;
    case TensorProto::DOUBLE:
      return Element::kF64;
    case TensorProto::FLOAT16:
      return Element::kF16;
    case TensorProto::BFLOAT16:
      return Element::kBf16;
    case TensorProto::INT8:
      return Element::kI8;
    case TensorProto::UINT8:
      return Element::kU8;
    case TensorProto::INT16:
      return Element::kI16;
    case TensorProto::UINT16:
      return Element::kU16;
    case TensorProto::INT32:
      return Element::kI32;
    case TensorProto::UINT32:
      return Element::kU32;
    case TensorProto::INT64:
      return Element::kI64;
    case TensorProto::UINT64:
      return Element::kU64;
    case TensorProto::BOOL:
      return Element::kBool;
    default:
      return Element::kOther;
  }
}

// Little-endian values, as ONNX stores them.
template <class T>
void take_raw(const std::string& bytes, std::vector<double>& out) {
  static_assert(std::endian::native == std::endian::little);
  out.reserve(bytes.size() / sizeof(T));
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    out.push_back(static_cast<double>(value));
  }
}

double half_value(base::Dtype dtype, std::uint16_t bits) { return expr::element_at(dtype, &bits); }

void take_halves(const std::string& bytes, base::Dtype dtype, std::vector<double>& out) {
  for (std::size_t at = 0; at + 2 <= bytes.size(); at += 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, 2);
    out.push_back(half_value(dtype, bits));
  }
}

std::vector<double> raw_values(Element element, const std::string& bytes) {
  std::vector<double> out;
  switch (element) {
    case Element::kF32:
      take_raw<float>(bytes, out);
      break;
    case Element::kF64:
      take_raw<double>(bytes, out);
      break;
    case Element::kF16:
      take_halves(bytes, base::Dtype::kF16, out);
      break;
    case Element::kBf16:
      take_halves(bytes, base::Dtype::kBf16, out);
      break;
    case Element::kI8:
      take_raw<std::int8_t>(bytes, out);
      break;
    case Element::kU8:
    case Element::kBool:
      take_raw<std::uint8_t>(bytes, out);
      break;
    case Element::kI16:
      take_raw<std::int16_t>(bytes, out);
      break;
    case Element::kU16:
      take_raw<std::uint16_t>(bytes, out);
      break;
    case Element::kI32:
      take_raw<std::int32_t>(bytes, out);
      break;
    case Element::kU32:
      take_raw<std::uint32_t>(bytes, out);
      break;
    case Element::kI64:
      take_raw<std::int64_t>(bytes, out);
      break;
    case Element::kU64:
      take_raw<std::uint64_t>(bytes, out);
      break;
    case Element::kOther:
      break;
  }
  return out;
}

std::vector<double> typed_values(const TensorProto& t, Element element) {
  std::vector<double> out;
  const auto take = [&](const auto& all) { out.assign(all.begin(), all.end()); };
  switch (element) {
    case Element::kF32:
      take(t.float_data());
      break;
    case Element::kF64:
      take(t.double_data());
      break;
    case Element::kF16:
    case Element::kBf16:
      for (const int bits : t.int32_data())
        out.push_back(half_value(element == Element::kF16 ? base::Dtype::kF16 : base::Dtype::kBf16,
                                 static_cast<std::uint16_t>(bits)));
      break;
    case Element::kI64:
      take(t.int64_data());
      break;
    case Element::kU32:
    case Element::kU64:
      take(t.uint64_data());
      break;
    case Element::kOther:
      break;
    default:
      take(t.int32_data());
      break;
  }
  return out;
}

std::int64_t count_of_values(const TensorProto& t, Element element) {
  if (t.has_raw_data()) return std::ssize(t.raw_data()) / size_of(element);
  switch (element) {
    case Element::kF32:
      return t.float_data_size();
    case Element::kF64:
      return t.double_data_size();
    case Element::kI64:
      return t.int64_data_size();
    case Element::kU32:
    case Element::kU64:
      return t.uint64_data_size();
    default:
      return t.int32_data_size();
  }
}

// Reads tensors of one file.
class TensorReader {
 public:
  TensorReader(base::Position file, std::int64_t most_values, base::Diagnostics& diags)
      : file_(file), most_values_(most_values), diags_(diags) {}

  // Without values where they are in another file, of another type than numbers, or too many. `where` is what in the
  // file has the tensor.
  std::optional<Constant> constant(const TensorProto& t, const std::string& where) {
    Constant out{element_of(t.data_type()), {t.dims().begin(), t.dims().end()}, {}, false};
    const auto error = [&](const std::string& what) {
      diags_.error(file_, fmt::format("{}tensor '{}': {}", where, t.name(), what));
      return std::nullopt;
    };
    if (const auto why = mistake_in(out.shape)) return error(*why);
    out.elsewhere = t.data_location() == TensorProto::EXTERNAL;
    if (out.elsewhere || out.element == Element::kOther) return out;
    const std::int64_t elements = elements_of(out.shape), count = count_of_values(t, out.element);
    if (count != elements) return error(fmt::format("expected {} values of its shape, got {}", elements, count));
    if (elements <= most_values_)
      out.values = t.has_raw_data() ? raw_values(out.element, t.raw_data()) : typed_values(t, out.element);
    return out;
  }

  // With all of its values.
  std::optional<Tensor> tensor(const TensorProto& t, const std::string& where) {
    auto c = TensorReader(file_, kMaxElements, diags_).constant(t, where);
    if (!c) return std::nullopt;
    if (c->elsewhere) {
      diags_.error(file_, fmt::format("{}tensor '{}': its values are in another file", where, t.name()));
      return std::nullopt;
    }
    return Tensor{t.name(), c->element, std::move(c->shape), std::move(c->values).value_or(std::vector<double>())};
  }

 private:
  base::Position file_;
  std::int64_t most_values_;
  base::Diagnostics& diags_;
};

// A stream of protobuf's as one message, of which `use` makes a value.
template <class Message, class Use>
auto with_message(google::protobuf::io::ZeroCopyInputStream& bytes, std::uintmax_t size, base::Position at,
                  base::Diagnostics& diags, const Use& use) -> decltype(use(Message())) {
  google::protobuf::Arena arena(limited_memory(size));
  google::protobuf::io::CodedInputStream coded(&bytes);
  coded.SetRecursionLimit(kMaxMessageDepth);
  try {
    auto* const message = google::protobuf::Arena::CreateMessage<Message>(&arena);
    if (message->ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage()) return use(*message);
    diags.error(at, "expected an ONNX file, its bytes are none");
  } catch (const std::bad_alloc&) {
    diags.error(at, "its messages take more memory than 512 MiB and eight times the file");
  }
  return std::nullopt;
}

template <class Message, class Use>
auto with_file(const std::string& path, base::Position at, base::Diagnostics& diags, const Use& use) {
  std::ifstream file(path, std::ios::binary);
  google::protobuf::io::IstreamInputStream bytes(&file);
  std::error_code none;
  const std::uintmax_t size = std::filesystem::file_size(path, none);
  const bool known = !none;  // of a pipe it is not
  if (file && !std::filesystem::is_directory(path, none))
    return with_message<Message>(bytes, known ? size : 0, at, diags, use);
  diags.error(at, "cannot be read");
  return decltype(use(Message()))();
}

class ModelReader {
 public:
  ModelReader(base::Position file, std::int64_t most_values, base::Diagnostics& diags)
      : file_(file), most_values_(most_values), tensors_(file, most_values, diags), diags_(diags) {}

  std::optional<Model> read(const onnx::ModelProto& m, const std::string& name) {
    const std::size_t before = diags_.count();
    if (!m.has_graph()) {
      diags_.error(file_, "expected a model with a graph");
      return std::nullopt;
    }
    if (m.graph().node_size() > kMaxNodes) {
      diags_.error(file_, fmt::format("{} nodes, expected {} at most", m.graph().node_size(), kMaxNodes));
      return std::nullopt;
    }
    Model out;
    out.name = name;
    out.at = file_;
    for (const auto& set : m.opset_import())
      if (set.domain().empty() || set.domain() == "ai.onnx") out.opset = set.version();
    for (const TensorProto& t : m.graph().initializer())
      if (auto constant = tensors_.constant(t, {})) out.constants.emplace(t.name(), *std::move(constant));
    for (const auto& v : m.graph().input())
      if (!out.constants.contains(v.name())) out.inputs.push_back(value(v));
    for (const auto& v : m.graph().output()) out.outputs.push_back(value(v));
    for (const onnx::NodeProto& n : m.graph().node())
      if (!add_constant(n, out)) out.nodes.push_back(node(n));
    if (diags_.count() != before) return std::nullopt;
    return out;
  }

 private:
  static ModelValue value(const onnx::ValueInfoProto& v) {
    ModelValue out{v.name(), Element::kOther, {}, {}};
    if (!v.type().has_tensor_type()) return out;
    out.element = element_of(v.type().tensor_type().elem_type());
    for (const auto& d : v.type().tensor_type().shape().dim()) {
      out.shape.push_back(d.has_dim_value() ? d.dim_value() : -1);
      out.open.push_back(d.dim_param());
    }
    return out;
  }

  static bool is_of_onnx(const onnx::NodeProto& n) { return n.domain().empty() || n.domain() == "ai.onnx"; }

  // Some exporters write weights as nodes: one whose values are not read is a constant of the model.
  bool add_constant(const onnx::NodeProto& n, Model& out) {
    if (n.op_type() != "Constant" || !is_of_onnx(n) || n.attribute_size() != 1 || n.output_size() != 1) return false;
    const AttributeProto& a = n.attribute(0);
    if (a.name() != "value" || a.type() != AttributeProto::TENSOR) return false;
    if (elements_of({a.t().dims().begin(), a.t().dims().end()}) <= most_values_) return false;
    if (auto constant = tensors_.constant(a.t(), fmt::format("node '{}': ", n.name())))
      out.constants.emplace(n.output(0), *std::move(constant));
    return true;
  }

  ModelNode node(const onnx::NodeProto& n) {
    ModelNode out;
    out.at = file_;
    out.name = n.name();
    out.kind = is_of_onnx(n) ? n.op_type() : n.domain() + "." + n.op_type();
    out.inputs.assign(n.input().begin(), n.input().end());
    out.outputs.assign(n.output().begin(), n.output().end());
    for (const AttributeProto& a : n.attribute()) attribute(a, out);
    return out;
  }

  void attribute(const AttributeProto& a, ModelNode& out) {
    const auto set = [&](Attribute value) { out.attributes.insert_or_assign(a.name(), std::move(value)); };
    switch (a.type()) {
      case AttributeProto::INT:
        return set(static_cast<std::int64_t>(a.i()));
      case AttributeProto::FLOAT:
        return set(static_cast<double>(a.f()));
      case AttributeProto::STRING:
        return set(a.s());
      case AttributeProto::INTS:
        return set(std::vector<std::int64_t>(a.ints().begin(), a.ints().end()));
      case AttributeProto::FLOATS:
        return set(std::vector<double>(a.floats().begin(), a.floats().end()));
      case AttributeProto::STRINGS:
        return set(std::vector<std::string>(a.strings().begin(), a.strings().end()));
      case AttributeProto::TENSOR:
        if (auto t = tensors_.tensor(a.t(), fmt::format("node '{}': ", out.name))) set(*std::move(t));
        return;
      case AttributeProto::GRAPH:
      case AttributeProto::GRAPHS:
        out.has_graph = true;
        return;
      default:
        return;
    }
  }

  base::Position file_;
  std::int64_t most_values_;
  TensorReader tensors_;
  base::Diagnostics& diags_;
};

}  // namespace

std::optional<Model> read_onnx(const std::string& path, base::Diagnostics& diags, std::int64_t most_values) {
  const base::Position at{diags.add_source(path)};
  return with_file<onnx::ModelProto>(
      path, at, diags, [&](const onnx::ModelProto& m) { return ModelReader(at, most_values, diags).read(m, path); });
}

std::optional<Model> read_onnx_bytes(std::string_view bytes, const std::string& name, base::Diagnostics& diags,
                                     std::int64_t most_values) {
  const base::Position at{diags.add_source(name)};
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return with_message<onnx::ModelProto>(stream, bytes.size(), at, diags, [&](const onnx::ModelProto& m) {
    return ModelReader(at, most_values, diags).read(m, name);
  });
}

std::optional<Tensor> read_onnx_tensor(const std::string& path, base::Diagnostics& diags) {
  const base::Position at{diags.add_source(path)};
  return with_file<TensorProto>(
      path, at, diags, [&](const TensorProto& t) { return TensorReader(at, kMaxElements, diags).tensor(t, {}); });
}

std::string onnx_refusal() { return {}; }

}  // namespace tilescope::graph
