// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of the choices in the construction of programs (base/choices.h), as users write them.

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/choices.h"

namespace tilescope::api {

template <class T, std::size_t n>
using Choices = std::array<std::pair<std::string_view, T>, n>;

inline constexpr Choices<base::Fuse, 3> kFuse = {
    {{"none", base::Fuse::kNone}, {"inline", base::Fuse::kInline}, {"all", base::Fuse::kAll}}};
inline constexpr Choices<base::Dataflow, 3> kDataflow = {{{"stationary", base::Dataflow::kStationary},
                                                          {"fetch", base::Dataflow::kFetch},
                                                          {"shift", base::Dataflow::kShift}}};
inline constexpr Choices<base::TensorLocation, 2> kTensorLocation = {
    {{"cores", base::TensorLocation::kCores}, {"dram", base::TensorLocation::kDram}}};

// The choice of that name; nullopt if there is none.
template <class T, std::size_t n>
constexpr std::optional<T> chosen(const Choices<T, n>& choices, std::string_view name) {
  for (const auto& [known, value] : choices)
    if (known == name) return value;
  return std::nullopt;
}

}  // namespace tilescope::api
