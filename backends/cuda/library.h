// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared libraries that are looked for while the program runs: what needs one that is missing says so in a sentence,
// and everything else works. Written in nothing but the standard library and the loader's functions, so that what runs
// beside a GPU can be built of it without the rest of the house.

#include <string>
#include <vector>

namespace tilescope::cuda {

class Library {
 public:
  // Opens the first that is there of `names`, best first, in $TILESCOPE_CUDA_PATH, its lib64, the lib64 of $CUDA_HOME
  // and of $CUDA_PATH, then by the loader's own path and in /usr/local/cuda/lib64. What is there and cannot be opened
  // ends the search: another version in its place would be a surprise. An open library stays so to the end of the
  // program, since vendors' libraries do not survive being closed.
  explicit Library(const std::vector<std::string>& names);

  bool ok() const { return refusal_.empty(); }
  // Why none is open, in a sentence; empty where one is.
  const std::string& why_unsupported() const { return refusal_; }
  // The file that is open; empty where none is.
  const std::string& path() const { return path_; }

  // Points `function` to what the library has under the name; false where it has nothing.
  template <class Function>
  bool find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string path_, refusal_;
};

}  // namespace tilescope::cuda
