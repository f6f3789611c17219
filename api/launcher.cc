// SPDX-License-Identifier: Apache-2.0
#include "api/detail/launcher.h"

#include <cctype>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/tensor_map_text.h"
#include "base/check.h"
#include "base/dtype.h"

namespace tilescope::api {
namespace {

using base::Value;

const std::string& launch_word(const Value& v, std::string_view key) { return *v.find(key)->get_if<std::string>(); }
std::int64_t launch_number(const Value& v, std::string_view key) { return *v.find(key)->get_if<std::int64_t>(); }
const base::List& launch_list(const Value& v, std::string_view key) { return *v.find(key)->get_if<base::List>(); }

std::string_view element_name(base::Dtype dtype) {
  switch (dtype) {
    case base::Dtype::kF64:
      return "Element::kReal64";
    case base::Dtype::kF32:
    case base::Dtype::kTf32:
      return "Element::kReal32";
    case base::Dtype::kF16:
      return "Element::kReal16";
    case base::Dtype::kBf16:
      return "Element::kBrain16";
    case base::Dtype::kI32:
      return "Element::kInteger32";
    default:
      return "Element::kByte";
  }
}

base::Dtype dtype_of_array(const Value& array) { return *base::dtype_of(launch_word(array, "dtype")); }

// "a, b, c" of a map's list, times `factor`.
std::string braced(std::vector<std::int64_t> numbers, std::int64_t factor = 1) {
  for (std::int64_t& n : numbers) n *= factor;
  return fmt::format("{{{}}}", fmt::join(numbers, ", "));
}

// The launches of one document, as statements of main().
class Launches {
 public:
  Launches(const Value& document, const IndexLimits& limits) : document_(document), limits_(limits) {}

  std::string text() {
    for (const Value& a : launch_list(document_, "arrays")) add_array(a);
    out_ += "\n  CUmodule module = load_module(kernels);\n";
    for (const Value& k : launch_list(document_, "kernels")) add_kernel(k);
    out_ += fmt::format("  const auto run = [&] {{\n{}  }};\n", calls_);
    return out_;
  }

  std::string results() const {
    std::string out;
    for (const Value& a : launch_list(document_, "arrays"))
      if (launch_word(a, "role") == "output")
        out += fmt::format("    save(folder + \"/{0}.bin\", {1}, {2}, {3});\n", launch_word(a, "name"),
                           variables_.at(launch_word(a, "name")), element_name(dtype_of_array(a)),
                           launch_number(a, "elements"));
    return out;
  }

 private:
  // A variable's name, which no other has.
  std::string variable(const std::string& wanted) {
    std::string name;
    for (const char c : wanted) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    for (int n = 2; !names_.insert(name).second; ++n) name = fmt::format("{}_{}", wanted, n);
    return name;
  }

  void add_array(const Value& a) {
    const std::string& name = launch_word(a, "name");
    const std::string v = variables_[name] = variable("array_" + name);
    const std::string what = fmt::format("{}, {}", element_name(dtype_of_array(a)), launch_number(a, "elements"));
    const auto limit = limits_.find(name);
    if (launch_word(a, "role") != "input")
      out_ += fmt::format("  const CUdeviceptr {} = array({});\n", v, what);
    else if (limit == limits_.end())
      out_ += fmt::format("  const CUdeviceptr {} = input({}, {});\n", v, what, inputs_++);
    else
      out_ += fmt::format("  const CUdeviceptr {} = input({}, {}, {});\n", v, what, inputs_++, limit->second);
  }

  void add_kernel(const Value& k) {
    const std::string& name = launch_word(k, "name");
    const std::string f = variable("kernel_" + name), arguments = variable("arguments_of_" + name);
    std::vector<std::string> all;
    for (const Value& a : launch_list(k, "arrays"))
      all.push_back(fmt::format("const_cast<CUdeviceptr*>(&{})", variables_.at(*a.get_if<std::string>())));
    out_ += "\n";
    for (const Value& m : launch_list(k, "maps")) all.push_back("&" + add_map(m));
    for (const Value& s : launch_list(k, "scalars")) {
      const std::string v = variable("scalar_" + *s.get_if<std::string>());
      out_ += fmt::format("  {} {} = 1;\n", launch_word(k, "scalar_type"), v);
      all.push_back("&" + v);
    }
    out_ += fmt::format("  const CUfunction {} = function(module, \"{}\", {});\n", f, name,
                        launch_number(k, "shared_bytes"));
    if (all.empty())
      out_ += fmt::format("  void** {} = nullptr;\n", arguments);
    else
      out_ += fmt::format("  void* {}[] = {{{}}};\n", arguments, fmt::join(all, ", "));
    calls_ +=
        fmt::format("    launch({}, {}, {}, {}, {}, {});\n", f, launch_number(k, "blocks"), launch_number(k, "cluster"),
                    launch_number(k, "threads"), launch_number(k, "shared_bytes"), arguments);
  }

  std::string add_map(const Value& m) {
    const std::string& array = launch_word(m, "array");
    base::Dtype dtype{};
    for (const Value& a : launch_list(document_, "arrays"))
      if (launch_word(a, "name") == array) dtype = dtype_of_array(a);
    std::vector<std::int64_t> strides = innermost_first(m, "strides");
    base::check(!strides.empty(), "a map has dimensions");
    strides.erase(strides.begin());
    std::string v = variable("tiles_of_" + array);
    out_ += fmt::format("  CUtensorMap {} = tensor_map({}, {}, {}, {},\n                                 {}, {});\n", v,
                        variables_.at(array), driver_element(dtype).name, braced(innermost_first(m, "extents")),
                        braced(strides, base::size_of(dtype).n), braced(innermost_first(m, "box")),
                        driver_swizzle(launch_number(m, "swizzled_row_bytes")).name);
    return v;
  }

  const Value& document_;
  const IndexLimits& limits_;
  std::set<std::string> names_;
  std::map<std::string, std::string> variables_;  // by array
  int inputs_ = 1;
  std::string out_, calls_;
};

void replace_line(std::string& text, std::string_view line, const std::string& by) {
  const std::size_t at = text.find(line);
  base::check(at != std::string::npos, "the launcher has a line for each of its parts");
  text.replace(at, line.size(), by);
}

}  // namespace

std::string launcher_text(const Value& document, std::string_view about, const IndexLimits& limits) {
  Launches launches(document, limits);
  std::string text(launcher_program()), head;
  while (!about.empty()) {
    const std::size_t end = std::min(about.find('\n'), about.size());
    head += fmt::format("// {}\n", about.substr(0, end));
    about.remove_prefix(std::min(end + 1, about.size()));
  }
  replace_line(text, "  // LAUNCHES\n", launches.text());
  replace_line(text, "    // RESULTS\n", launches.results());
  return fmt::format("{}// Launches the kernels of kernels.cu and prints their median time; see Makefile.\n{}", head,
                     text);
}

std::string launcher_makefile(const arch::ArchSpec& chip) {
  return fmt::format(
      "CUDA ?= /usr/local/cuda\nARCH ?= {}\n\nall: launch kernels.cubin\n\nkernels.cubin: kernels.cu\n"
      "\t$(CUDA)/bin/nvcc -std=c++17 -cubin -arch=$(ARCH) -o $@ $<\n\nlaunch: launch.cc\n"
      "\t$(CXX) -O2 -std=c++17 -I$(CUDA)/include -L$(CUDA)/lib64/stubs -o $@ $< -lcuda\n",
      chip.target.value_or("sm_80"));
}

}  // namespace tilescope::api
