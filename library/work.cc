// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/network/figures.h"
#include "library/objects.h"

using namespace tilescope;
using namespace tilescope::library;

namespace {

// The workload as work, where it has no mistake.
tilescope_work* checked(api::Workload workload, std::string title, base::Diagnostics& diags) {
  const std::size_t before = diags.count();
  api::check(workload, diags);
  return diags.count() > before ? nullptr : new tilescope_work{std::move(title), std::move(workload)};
}

std::string titled(std::string title, const std::string& sizes, const std::string& dtype) {
  if (!sizes.empty()) title += " with " + sizes;
  return dtype.empty() ? title : title + " in " + dtype;
}

}  // namespace

tilescope_work* tilescope_work_operator(const char* expression, const char* sizes, const char* shapes,
                                        const char* dtype, tilescope_messages* messages) {
  return guarded<tilescope_work*>(messages, nullptr, [&](base::Diagnostics& diags) {
    api::Workload w;
    w.op = given(expression);
    w.sizes = given(sizes);
    w.shapes = given(shapes);
    w.dtype = given(dtype);
    return checked(w, titled(w.op, w.sizes, w.dtype), diags);
  });
}

tilescope_work* tilescope_work_suite(const char* name_or_file, const char* sizes, const char* dtype,
                                     tilescope_messages* messages) {
  return guarded<tilescope_work*>(messages, nullptr, [&](base::Diagnostics& diags) {
    api::Workload w;
    w.suite = given(name_or_file);
    w.sizes = given(sizes);
    w.dtype = given(dtype);
    return checked(w, titled("suite " + *w.suite, w.sizes, w.dtype), diags);
  });
}

tilescope_work* tilescope_work_network(const char* name_or_file, const char* sizes, const char* dtype,
                                       tilescope_messages* messages) {
  return guarded<tilescope_work*>(messages, nullptr, [&](base::Diagnostics& diags) -> tilescope_work* {
    api::NetworkSource source;
    source.name = given(name_or_file);
    source.sizes = given(sizes);
    source.dtype = given(dtype);
    if (!api::figures_of_network(source, false, diags)) return nullptr;
    return new tilescope_work{titled("network " + source.name, source.sizes, source.dtype), source};
  });
}

tilescope_work* tilescope_work_programs(const char* json_lines, const char* name, tilescope_messages* messages) {
  return guarded<tilescope_work*>(messages, nullptr, [&](base::Diagnostics&) {
    return new tilescope_work{"programs of " + given(name), api::NamedText{given(name), given(json_lines)}};
  });
}

void tilescope_work_free(tilescope_work* work) { delete work; }

const char* tilescope_work_title(const tilescope_work* work) { return work->title.c_str(); }
