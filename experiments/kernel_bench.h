#pragma once
// Kernels built by hand, for microbenchmarks. For the .cc files of experiments/.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "arch/derive.h"
#include "lower/affine.h"

namespace tilescope::experiments {

// One kernel and its arrays. Loops are made before what runs in them.
class Bench {
 public:
  Bench(std::int64_t blocks, std::int64_t threads) : indices_(prepared(blocks, threads)) {}

  lower::IndexMaker& indices() { return indices_; }
  lower::Affine block() const { return indices_.block(); }
  lower::Affine thread() const { return indices_.thread(); }

  int global(const std::string& name, std::int64_t elements, base::Dtype dtype, lower::Role role) {
    module_.globals.push_back({name, dtype, elements, role});
    return buffer({name, lower::Space::kGlobal, dtype, elements, static_cast<int>(module_.globals.size()) - 1, 0});
  }
  int registers(const std::string& name, std::int64_t elements, base::Dtype dtype) {
    return buffer({name, lower::Space::kRegister, dtype, elements, -1, 0});
  }
  int shared(const std::string& name, std::int64_t elements, base::Dtype dtype) {
    const std::int64_t at = kernel().shared_bytes;
    kernel().shared_bytes += elements * base::size_of(dtype).n;
    return buffer({name, lower::Space::kShared, dtype, elements, -1, at});
  }
  // So much scratchpad that no more than `blocks` are resident on a core.
  void hold_residency(std::int64_t blocks, const arch::ArchSpec& chip) {
    if (const arch::LevelSpec* pad = arch::scratchpad_of(chip))
      kernel().shared_bytes = std::min(pad->capacity.n / blocks, arch::scratchpad_per_block(*pad).n);
  }
  void add(lower::Statement s) { kernel().body.push_back(std::move(s)); }
  lower::Module take() && { return std::move(module_); }

 private:
  lower::Kernel& kernel() { return module_.kernels.front(); }
  lower::Kernel& prepared(std::int64_t blocks, std::int64_t threads) {
    lower::Kernel& k = module_.kernels.emplace_back();
    k.name = "microbenchmark";
    k.blocks = blocks;
    k.threads = threads;
    return k;
  }
  int buffer(lower::Buffer b) {
    kernel().buffers.push_back(std::move(b));
    return static_cast<int>(kernel().buffers.size()) - 1;
  }

  lower::Module module_;
  lower::IndexMaker indices_;
};

inline lower::Statement copy(lower::Access to, lower::Access from, std::int64_t elements) {
  return {lower::Copy{std::move(to), std::move(from), elements, {}, {}}, {}};
}
inline lower::Statement loop(int index, std::vector<lower::Statement> body, std::int64_t unroll) {
  return {lower::Loop{index, unroll, std::move(body)}, {}};
}
// target = value, which waits for it.
inline lower::Statement use(int target, int value) {
  return {lower::Compute{{target, {}}, expr::Reducer::kNone, {{.kind = expr::NodeKind::kRead}}, {{value, {}}}}, {}};
}
// target += value[at].
inline lower::Statement add_to(int target, int value, const lower::Affine& at) {
  return {lower::Compute{{target, {}}, expr::Reducer::kSum, {{.kind = expr::NodeKind::kRead}}, {{value, at}}}, {}};
}

inline constexpr base::Dtype kWord = base::Dtype::kF32;
inline constexpr std::int64_t kWordBytes = 4;

}  // namespace tilescope::experiments
