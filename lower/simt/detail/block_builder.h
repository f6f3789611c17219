// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel under construction: its arrays, indices and statements. The stages that become one kernel share it.

#include <set>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "lower/affine.h"
#include "lower/simt/detail/body.h"

namespace tilescope::lower {

class BlockBuilder {
 public:
  // `kernel` has name, blocks and threads; `names` are those of all tensors of the program, which other arrays do not
  // take. Errors stand `at` the program's place.
  BlockBuilder(Kernel kernel, Module& module, const std::set<std::string>& names, base::Diagnostics& diags,
               base::Position at)
      : kernel_(std::move(kernel)), indices_(kernel_), module_(module), names_(names), diags_(diags), at_(at) {}
  BlockBuilder(const BlockBuilder&) = delete;
  BlockBuilder& operator=(const BlockBuilder&) = delete;

  Kernel& kernel() { return kernel_; }
  IndexMaker& indices() { return indices_; }
  void refuse(std::string reason) { diags_.error(at_, std::move(reason)); }

  // Each gives the array's number in Kernel::buffers. A tensor in memory has one, and one place in the module: what an
  // earlier kernel wrote passes between the two.
  int memory(const std::string& tensor, base::Dtype dtype, std::int64_t elements, Role role,
             const expr::IndexDistribution& indices = {});
  int registers(const std::string& name, base::Dtype dtype, std::int64_t elements);
  int shared(const std::string& name, base::Dtype dtype, std::int64_t elements, base::Bytes begin,
             base::Bytes swizzled_row = {0});
  // `begin`: bytes of every lane.
  int tensor(const std::string& name, base::Dtype dtype, std::int64_t columns, std::int64_t begin);
  base::Dtype dtype_of(int buffer) const { return kernel_.buffers[static_cast<std::size_t>(buffer)].dtype; }
  // The number of an instruction of the kernel, which has each once.
  int instruction(const MatrixInstruction& i);
  // The number of a scalar of the module.
  int scalar(const std::string& name);
  std::string unused_name(std::string name) const;

  // The kernel with its body goes to the module.
  void finish(Body body);

 private:
  int add(Buffer b);

  Kernel kernel_;
  IndexMaker indices_;  // of the kernel, hence after it
  Module& module_;
  const std::set<std::string>& names_;
  base::Diagnostics& diags_;
  base::Position at_;
};

}  // namespace tilescope::lower
