// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/nvrtc.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cuda/cache.h"
#include "backends/cuda/process.h"
#include "base/hash.h"

namespace tilescope::cuda {

// The functions of nvrtc.h that are called here: their types are part of NVRTC's binary interface, 0 is success.
struct DeviceCompiler::Functions {
  using Program = struct OpaqueProgram*;

  int (*version)(int* major, int* minor) = nullptr;
  int (*target_count)(int* count) = nullptr;
  int (*targets)(int* numbers) = nullptr;
  int (*create)(Program* program, const char* text, const char* name, int headers, const char* const* header_texts,
                const char* const* header_names) = nullptr;
  int (*destroy)(Program* program) = nullptr;
  int (*compile)(Program program, int count, const char* const* options) = nullptr;
  int (*log_size)(Program program, std::size_t* bytes) = nullptr;
  int (*log)(Program program, char* bytes) = nullptr;
  int (*cubin_size)(Program program, std::size_t* bytes) = nullptr;
  int (*cubin)(Program program, char* bytes) = nullptr;
  int (*ptx_size)(Program program, std::size_t* bytes) = nullptr;
  int (*ptx)(Program program, char* bytes) = nullptr;
  const char* (*words_of)(int error) = nullptr;

  // The name of a function that the library lacks; empty where it has them all.
  std::string find_in(const Library& l) {
    std::string lacks;
    const auto find = [&](const char* name, auto& function) {
      if (!l.find(name, function) && lacks.empty()) lacks = name;
    };
    find("nvrtcVersion", version);
    find("nvrtcGetNumSupportedArchs", target_count);
    find("nvrtcGetSupportedArchs", targets);
    find("nvrtcCreateProgram", create);
    find("nvrtcDestroyProgram", destroy);
    find("nvrtcCompileProgram", compile);
    find("nvrtcGetProgramLogSize", log_size);
    find("nvrtcGetProgramLog", log);
    find("nvrtcGetCUBINSize", cubin_size);
    find("nvrtcGetCUBIN", cubin);
    find("nvrtcGetPTXSize", ptx_size);
    find("nvrtcGetPTX", ptx);
    find("nvrtcGetErrorString", words_of);
    return lacks;
  }

  // What one of the pairs of functions for a size and its bytes has.
  std::string bytes_of(Program program, int (*size)(Program, std::size_t*), int (*get)(Program, char*)) const {
    std::size_t bytes = 0;
    if (size(program, &bytes) != 0) return {};
    std::string out(bytes, '\0');
    if (get(program, out.data()) != 0) out.clear();
    return out;
  }
  // The same of a text, which ends with a zero.
  std::string text_of(Program program, int (*size)(Program, std::size_t*), int (*get)(Program, char*)) const {
    const std::string bytes = bytes_of(program, size, get);
    return bytes.substr(0, bytes.find('\0'));
  }
};

// What one call of the compiler leaves: code, or a log that says why there is none, and PTX where it came so far.
struct DeviceCompiler::Built {
  std::string log, cubin, ptx;
};

namespace {

// Newest first; within a major version they are one name.
const std::vector<std::string> kNames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};

std::vector<std::string> options_for(std::string_view target) {
  return {fmt::format("--gpu-architecture={}", target), "--std=c++17", "--ptxas-options=-v"};
}

// A file holds the length of the log, the log and the code, so that one move puts both in place.
std::string packed(std::string_view log, std::string_view cubin) {
  return fmt::format("{}\n{}{}", log.size(), log, cubin);
}

std::optional<DeviceCode> unpacked(std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  std::size_t length = 0;
  const auto read = std::from_chars(bytes.data(), bytes.data() + end, length);
  if (read.ec != std::errc() || end == bytes.size() || length >= bytes.size() - end - 1) return std::nullopt;
  const std::string_view rest = bytes.substr(end + 1);
  return DeviceCode{std::string(rest.substr(length)), usage_in(rest.substr(0, length)), {}};
}

}  // namespace

DeviceCompiler::DeviceCompiler(const std::string& cache_folder)
    : library_(kNames), folder_(cache_folder.empty() ? default_cache_folder() : cache_folder) {
  auto nvrtc = std::make_unique<Functions>();
  if (!library_.ok())
    refusal_ = "NVRTC, which compiles kernels for a GPU, is absent: " + library_.why_unsupported();
  else if (const std::string lacks = nvrtc->find_in(library_); !lacks.empty())
    refusal_ = fmt::format("{} is too old to compile kernels: it has no {}", library_.path(), lacks);
  if (!refusal_.empty()) return;
  int major = 0, minor = 0, count = 0;
  nvrtc->version(&major, &minor);
  nvrtc->target_count(&count);
  std::vector<int> numbers(static_cast<std::size_t>(count));
  nvrtc->targets(numbers.data());
  version_ = fmt::format("{}.{}", major, minor);
  for (const int n : numbers) targets_.push_back(fmt::format("sm_{}", n));
  nvrtc_ = std::move(nvrtc);
  std::error_code none;  // where nothing can be kept, everything is compiled again
  std::filesystem::create_directories(folder_, none);
}

DeviceCompiler::~DeviceCompiler() {
  if (!added_) return;
  const FolderLock lock(folder_);
  drop_least_recently_used(folder_, kMaxKeptBytes);
}

std::string DeviceCompiler::refusal_of(std::string_view target) const {
  std::string_view plain = target;
  if (!plain.empty() && (plain.back() < '0' || plain.back() > '9')) plain.remove_suffix(1);
  if (std::find(targets_.begin(), targets_.end(), plain) != targets_.end()) return {};
  return fmt::format("'{}' is no target of NVRTC {}, which has {}", target, version_, fmt::join(targets_, ", "));
}

DeviceCompiler::Built DeviceCompiler::build(std::string_view text, const std::vector<std::string>& options) const {
  Functions::Program program = nullptr;
  const std::string whole(text), file(kTextName);
  if (const int error = nvrtc_->create(&program, whole.c_str(), file.c_str(), 0, nullptr, nullptr); error != 0)
    return {nvrtc_->words_of(error), {}, {}};
  std::vector<const char*> words;
  for (const std::string& o : options) words.push_back(o.c_str());
  const int error = nvrtc_->compile(program, static_cast<int>(words.size()), words.data());
  Built out{nvrtc_->text_of(program, nvrtc_->log_size, nvrtc_->log), {}, {}};
  if (error == 0)
    out.cubin = nvrtc_->bytes_of(program, nvrtc_->cubin_size, nvrtc_->cubin);
  else
    out.ptx = nvrtc_->text_of(program, nvrtc_->ptx_size, nvrtc_->ptx);
  nvrtc_->destroy(&program);
  return out;
}

DeviceCode DeviceCompiler::compile(std::string_view text, std::string_view target) const {
  if (!refusal_.empty()) return {{}, {}, refusal_};
  if (const std::string why = refusal_of(target); !why.empty()) return {{}, {}, why};
  std::vector<std::string> options = options_for(target);
  const std::string name = base::content_hash(fmt::format("{} {}\n{}", version_, fmt::join(options, " "), text));
  const std::string path = fmt::format("{}/{}.cubin", folder_, name);
  if (find_kept(path))
    if (auto kept = unpacked(file_bytes(path))) return std::move(*kept);
  Built built = build(text, options);
  if (built.cubin.empty()) {
    // PTX says which lines it comes from only where it is asked to, and names the current folder then: not in code.
    options.emplace_back("--generate-line-info");
    if (is_about_ptx(built.log)) built = build(text, options);
    const std::string why = first_error_in(built.log, text, built.ptx);
    return {{}, {}, fmt::format("NVRTC {} for {} refuses {}", version_, target, why)};
  }
  if (write_kept(path, packed(built.log, built.cubin))) added_ = true;
  return {std::move(built.cubin), usage_in(built.log), {}};
}

}  // namespace tilescope::cuda
