// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/detail/loader.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "expr/element_bytes.h"

namespace tilescope::ipu_sim {
namespace {

template <class T>
T number_of(double value) {
  if constexpr (std::is_same_v<T, std::uint32_t>) return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  return static_cast<T>(value);
}

// Of all codes of a dtype that T has the values of.
template <class T, class Code>
std::vector<T> numbers_of_codes(base::Dtype dtype) {
  std::vector<T> out;
  if (base::size_of(dtype).n != sizeof(Code)) return out;
  if (std::is_same_v<T, std::uint32_t> && !base::is_integer(dtype)) return out;
  for (unsigned code = 0; code <= std::numeric_limits<Code>::max(); ++code) {
    const auto element = static_cast<Code>(code);
    out.push_back(number_of<T>(expr::element_at(dtype, &element)));
  }
  return out;
}

template <class T, class Code>
const T* numbers_by_code(base::Dtype dtype) {
  static const auto kTables = [] {
    std::vector<std::vector<T>> tables;
    for (const base::DtypeName& d : base::kDtypes) tables.push_back(numbers_of_codes<T, Code>(d.dtype));
    return tables;
  }();
  return kTables[static_cast<std::size_t>(dtype)].data();
}

template <class Element, class T, class Convert>
void each(const std::byte* first, const Offsets& offsets, T* to, const Convert& convert) {
  for (const std::int64_t offset : offsets) {
    Element e;
    std::memcpy(&e, first + offset, sizeof(Element));
    *to++ = convert(e);
  }
}

}  // namespace

template <class T>
Loader<T>::Loader(base::Dtype dtype) : dtype_(dtype) {
  const std::int64_t size = base::size_of(dtype).n;
  if (size == 1) by_code_ = numbers_by_code<T, std::uint8_t>(dtype);
  if (size == 2) by_code_ = numbers_by_code<T, std::uint16_t>(dtype);
}

template <class T>
void Loader<T>::load(const std::byte* first, const Offsets& offsets, T* to) const {
  switch (dtype_) {
    case base::Dtype::kF64:
      return each<double>(first, offsets, to, [](double v) { return number_of<T>(v); });
    case base::Dtype::kI32:
      return each<std::int32_t>(first, offsets, to, [](std::int32_t v) { return static_cast<T>(v); });
    case base::Dtype::kF32:
    case base::Dtype::kTf32:
      return each<float>(first, offsets, to, [](float v) { return number_of<T>(double{v}); });
    default:
      if (base::size_of(dtype_).n == 1)
        return each<std::uint8_t>(first, offsets, to, [this](auto code) { return by_code_[code]; });
      return each<std::uint16_t>(first, offsets, to, [this](auto code) { return by_code_[code]; });
  }
}

template <class T>
T Loader<T>::load(const std::byte* element) const {
  static const Offsets kHere = {0};
  T out{};
  load(element, kHere, &out);
  return out;
}

template class Loader<float>;
template class Loader<double>;
template class Loader<std::uint32_t>;

}  // namespace tilescope::ipu_sim
