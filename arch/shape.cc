// SPDX-License-Identifier: Apache-2.0
#include "arch/detail/shape.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <type_traits>

#include "arch/detail/describe.h"

namespace tilescope::arch {
namespace {

using base::Dimension;
using Type = Shape::Type;

Shape quantity(Dimension d, bool or_time = false) { return {Type::kQuantity, d, or_time, {}, {}}; }
Shape plain(Type type) { return {type, {}, false, {}, {}}; }

// The shape of a member, by its type.
template <class T>
struct ShapeOf {
  static Shape make() { return {Type::kChoice, {}, false, names_of<T>(), {}}; }
};
template <class T>
struct ShapeOf<std::optional<T>> : ShapeOf<T> {};
template <class T>
struct ShapeOf<Scaled<T>> : ShapeOf<T> {};
// clang-format off
template <> struct ShapeOf<std::string> { static Shape make() { return plain(Type::kText); } };
template <> struct ShapeOf<std::vector<std::string>> { static Shape make() { return plain(Type::kTexts); } };
template <> struct ShapeOf<bool> { static Shape make() { return plain(Type::kFlag); } };
template <> struct ShapeOf<FragmentMap> { static Shape make() { return plain(Type::kText); } };
template <> struct ShapeOf<std::int64_t> { static Shape make() { return plain(Type::kCount); } };
template <> struct ShapeOf<double> { static Shape make() { return plain(Type::kRatio); } };
template <> struct ShapeOf<Positive> { static Shape make() { return plain(Type::kPositive); } };
template <> struct ShapeOf<Bytes> { static Shape make() { return quantity(Dimension::kBytes); } };
template <> struct ShapeOf<Hertz> { static Shape make() { return quantity(Dimension::kHertz); } };
template <> struct ShapeOf<Cycles> { static Shape make() { return quantity(Dimension::kCycles); } };
template <> struct ShapeOf<TimingSlot> { static Shape make() { return quantity(Dimension::kCycles, true); } };
template <> struct ShapeOf<Microseconds> { static Shape make() { return quantity(Dimension::kMicroseconds); } };
template <> struct ShapeOf<BytesPerSecond> { static Shape make() { return quantity(Dimension::kBytesPerSecond); } };
template <> struct ShapeOf<FlopsPerSecond> { static Shape make() { return quantity(Dimension::kFlopsPerSecond); } };
template <> struct ShapeOf<VoltageCurve> { static Shape make() { return plain(Type::kTexts); } };
template <> struct ShapeOf<Volts> { static Shape make() { return quantity(Dimension::kVolts); } };
template <> struct ShapeOf<Watts> { static Shape make() { return quantity(Dimension::kWatts); } };
template <> struct ShapeOf<Picojoules> { static Shape make() { return quantity(Dimension::kPicojoules); } };
template <> struct ShapeOf<PicojoulesPerByte> { static Shape make() { return quantity(Dimension::kPicojoulesPerByte); } };
template <> struct ShapeOf<WattsPerSquareVolt> { static Shape make() { return quantity(Dimension::kWattsPerSquareVolt); } };
template <> struct ShapeOf<WattsPerSquareVoltGigahertz> {
  static Shape make() { return quantity(Dimension::kWattsPerSquareVoltGigahertz); }
};
template <> struct ShapeOf<base::SquareMillimeters> { static Shape make() { return quantity(Dimension::kSquareMillimeters); } };
// clang-format on

// The visitor that collects the keys of one map.
class ShapeBuilder {
 public:
  template <class T>
  void field(const Key& key, T&&) {
    fields_.push_back({key, ShapeOf<std::remove_cvref_t<T>>::make()});
  }
  template <class T>
  void part(const Key& key, T&& member) {
    add(key, Type::kMap, member);
  }
  template <class T>
  void part(const Key& key, std::optional<T>&) {
    T element;
    add(key, Type::kMap, element);
  }
  template <class T>
  void list(const Key& key, std::vector<T>&) {
    T element;
    add(key, Type::kList, element);
  }
  template <class T>
  void entries(const Key& key, std::map<std::string, T>&) {
    T element;
    add(key, Type::kEntries, element);
  }
  void levels(const Key& key, std::vector<Level>&) {
    Field field{key, plain(Type::kLevels)};
    for (const Kind kind : kKinds)
      for (const Field& f : level_fields(kind))
        if (find_field(field.shape.fields, f.key.name) == nullptr) field.shape.fields.push_back(f);
    fields_.push_back(std::move(field));
  }
  template <class T>
  void fallback(T&, T) {}

  std::vector<Field> take() { return std::move(fields_); }

 private:
  template <class T>
  void add(const Key& key, Type type, T& element) {
    ShapeBuilder inner;
    describe(inner, element);
    Field field{key, plain(type)};
    field.shape.fields = inner.take();
    fields_.push_back(std::move(field));
  }

  std::vector<Field> fields_;
};

template <class Spec>
std::vector<Field> fields_of_kind() {
  ShapeBuilder builder;
  Spec level;
  describe_level(builder, level);
  return builder.take();
}

Shape make_chip_shape() {
  ShapeBuilder builder;
  ArchSpec chip;
  describe(builder, chip);
  Shape shape = plain(Type::kMap);
  shape.fields = builder.take();
  return shape;
}

}  // namespace

const Shape& chip_shape() {
  static const Shape shape = make_chip_shape();
  return shape;
}

const std::vector<Field>& level_fields(Kind kind) {
  static const std::array<std::vector<Field>, 5> fields = {
      fields_of_kind<DramLevel>(), fields_of_kind<CacheLevel>(), fields_of_kind<ScratchpadLevel>(),
      fields_of_kind<RegisterLevel>(), fields_of_kind<TensorLevel>()};
  return fields[static_cast<std::size_t>(kind)];
}

const Field* find_field(const std::vector<Field>& fields, std::string_view key) {
  const auto found = std::find_if(fields.begin(), fields.end(), [key](const Field& f) { return f.key.name == key; });
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace tilescope::arch
