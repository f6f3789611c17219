// SPDX-License-Identifier: Apache-2.0
#pragma once
// The prelude: the definitions that emitted kernels call, in the sources *.cuh of backends/cuda. A text takes those
// that it names, and what they name in turn; the names are read from the sources themselves.
//
// A source is a sequence of definitions, each with the comment that stands directly above it; a comment before a blank
// line is for readers of the source. `#if defined(X)`, where X is __CUDACC__, __HIP__ or TILESCOPE_ON_CPU, is decided
// when the sources are read, and macros TILESCOPE_* are replaced; other directives remain as they are.

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/emit.h"

namespace tilescope::cuda {

// One definition: a function, a type, a macro, or what stands between an #if and its #endif.
struct Definition {
  std::string text;                    // whole lines
  std::vector<std::string> names;      // that it defines, sorted
  std::vector<std::string> mentioned;  // identifiers in its code, sorted
  bool close = false;                  // no blank line is between it and the definition before
};

// All sources, one after the other.
std::string_view prelude_source();

// The definitions that a text of sources has for a compiler, in order.
std::vector<Definition> definitions_in(std::string_view source, Dialect dialect);

// Those of the prelude that `text` needs, and the whole prelude, as text.
std::string prelude_for(std::string_view text, Dialect dialect);
std::string whole_prelude(Dialect dialect);

// Every name that the prelude defines for any compiler, sorted.
const std::vector<std::string>& prelude_names();

}  // namespace tilescope::cuda
