// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared libraries that are looked up at run time. A function that needs a missing library says so in a sentence;
// everything else works. Uses only the standard library and the loader's functions, so that the program for a GPU
// machine can be built from it without the rest of Tilescope.

#include <string>
#include <vector>

namespace tilescope::cuda {

class Library {
 public:
  // Opens the first of `names` (best first) that exists in $TILESCOPE_CUDA_PATH, its lib64, the lib64 of $CUDA_HOME and
  // of $CUDA_PATH, then by the loader's own path and in /usr/local/cuda/lib64. A library that exists and cannot be
  // opened ends the search: another version in its place would be a surprise. An open library stays open to the end of
  // the program, since vendors' libraries do not survive being closed.
  explicit Library(const std::vector<std::string>& names);

  bool ok() const { return refusal_.empty(); }
  // Why no library is open, as a sentence; empty where one is.
  const std::string& why_unsupported() const { return refusal_; }
  // The path of the open library; empty where none is open.
  const std::string& path() const { return path_; }

  // Points `function` to the library's symbol of that name; false where the library has none.
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
