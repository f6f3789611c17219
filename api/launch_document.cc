// SPDX-License-Identifier: Apache-2.0
#include "api/detail/launch_document.h"

#include <string>
#include <string_view>

#include "base/check.h"
#include "base/dtype.h"

namespace tilescope::api {
namespace {

std::string_view name_of(lower::Role role) {
  switch (role) {
    case lower::Role::kInput:
      return "input";
    case lower::Role::kOutput:
      return "output";
    case lower::Role::kBetween:
      return "between";
  }
  base::check(false, "every role has a name");
  return {};
}

base::Value to_document(const lower::Module& m, const cuda::TensorMap& map) {
  base::List extents, strides, box;
  for (const cuda::TensorMap::Dim& d : map.dims) {
    extents.emplace_back(d.extent);
    strides.emplace_back(d.stride);
    box.emplace_back(d.box);
  }
  return base::Map{{"array", m.globals[static_cast<std::size_t>(map.global)].name},
                   {"extents", std::move(extents)},
                   {"strides", std::move(strides)},
                   {"box", std::move(box)},
                   {"swizzled_row_bytes", map.swizzled_row}};
}

}  // namespace

base::Value launch_document(const lower::Module& m, const cuda::Emitted& emitted) {
  base::List arrays, kernels;
  for (const lower::Global& g : m.globals)
    arrays.emplace_back(base::Map{{"name", g.name},
                                  {"dtype", std::string(base::name_of(g.dtype))},
                                  {"elements", g.elements},
                                  {"role", std::string(name_of(g.role))}});
  for (const cuda::EmittedKernel& k : emitted.kernels) {
    base::List pointers, maps, scalars;
    for (const int g : k.globals) pointers.emplace_back(m.globals[static_cast<std::size_t>(g)].name);
    for (const cuda::TensorMap& map : k.maps) maps.emplace_back(to_document(m, map));
    for (const int s : k.scalars) scalars.emplace_back(m.scalars[static_cast<std::size_t>(s)]);
    kernels.emplace_back(base::Map{{"name", k.name},
                                   {"blocks", k.blocks},
                                   {"cluster", k.cluster},
                                   {"threads", k.threads},
                                   {"shared_bytes", k.shared_bytes},
                                   {"arrays", std::move(pointers)},
                                   {"maps", std::move(maps)},
                                   {"scalars", std::move(scalars)},
                                   {"scalar_type", std::string(k.wide_scalars ? "double" : "float")}});
  }
  return base::Map{{"arrays", std::move(arrays)}, {"kernels", std::move(kernels)}, {"text", emitted.text}};
}

}  // namespace tilescope::api
