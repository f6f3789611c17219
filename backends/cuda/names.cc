// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/names.h"

#include <cctype>
#include <map>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "backends/cuda/detail/boxes.h"
#include "backends/cuda/detail/prelude.h"

namespace tilescope::cuda {
namespace {

// Keywords of C++20, what compilers define beside them, and CUDA's built-in variables.
constexpr std::string_view kKeywords =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl "
    "concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default "
    "delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long "
    "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor "
    "xor_eq linux unix threadIdx blockIdx blockDim gridDim warpSize";

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::set<std::string> reserved_names() {
  std::set<std::string> out(prelude_names().begin(), prelude_names().end());
  std::istringstream words{std::string(kKeywords)};
  for (std::string word; words >> word;) out.insert(word);
  return out;
}

// Identifiers with two underscores, or one at the beginning, belong to the compiler.
std::string identifier(const std::string& wanted) {
  std::string out;
  for (const char c : wanted) {
    const char next = in_word(c) ? c : '_';
    if (next != '_' || (!out.empty() && out.back() != '_')) out += next;
  }
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out.front())) != 0) out.insert(0, "v");
  return out;
}

}  // namespace

NamePool::NamePool() {
  static const std::set<std::string> reserved = reserved_names();
  taken_ = reserved;
}

std::string NamePool::take(const std::string& wanted) {
  const std::string base = identifier(wanted);
  std::string name = base;
  for (int n = 2; !taken_.insert(name).second; ++n)
    name = fmt::format("{}{}{}", base, base.back() == '_' ? "" : "_", n);
  return name;
}

KernelNames names_of(const lower::Module& module, const lower::Kernel& kernel, const std::vector<std::string>& taken) {
  KernelNames out;
  NamePool pool;
  for (const std::string& name : taken) pool.take(name);
  std::map<int, std::string> of_global;
  for (const lower::Buffer& b : kernel.buffers) {
    if (b.space != lower::Space::kGlobal) {
      out.buffers.push_back(pool.take(b.name));
      continue;
    }
    if (!of_global.contains(b.global)) of_global.emplace(b.global, pool.take(b.name));
    out.buffers.push_back(of_global.at(b.global));
  }
  for (const std::string& s : module.scalars) out.scalars.push_back(pool.take(s));
  for (const lower::Index& i : kernel.indices) out.indices.push_back(pool.take(i.name));
  for (const lower::Mbarrier& s : kernel.mbarriers) out.mbarriers.push_back(pool.take(s.name));
  for (const TensorMap& m : maps_of(kernel))
    out.maps.push_back(pool.take(module.globals[static_cast<std::size_t>(m.global)].name + "_boxes"));
  return out;
}

std::vector<std::string> function_names(const lower::Module& module, NamePool& pool) {
  std::vector<std::string> out;
  for (const lower::Kernel& k : module.kernels) out.push_back(pool.take(k.name));
  return out;
}

}  // namespace tilescope::cuda
