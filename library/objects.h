// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objects behind the handles of include/tilescope/tilescope.h.

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tilescope/tilescope.h>
#include <utility>
#include <variant>
#include <vector>

#include "api/compile.h"
#include "api/network/network.h"
#include "api/source.h"
#include "arch/load.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "library/options.h"
#include "library/table.h"

struct tilescope_messages {
  tilescope::base::Diagnostics diags;
};

struct tilescope_options {
  tilescope::library::Options options;
};

struct tilescope_table {
  std::unique_ptr<tilescope::library::Table> table;
};

// A chip with what it was loaded from, so that it can be loaded with further changes.
struct tilescope_chip {
  std::string name;                 // of a device, of a file, or of the text
  std::optional<std::string> text;  // YAML; absent where the name leads to it
  std::vector<tilescope::arch::Override> changes;
  tilescope::arch::ArchSpec spec;
};

struct tilescope_work {
  std::string title;
  std::variant<tilescope::api::Workload, tilescope::api::NetworkSource, tilescope::api::NamedText> what;
};

namespace tilescope::library {

// Where errors and notes of a call go: the caller's messages, or nowhere.
class Into {
 public:
  explicit Into(tilescope_messages* messages) : to_(messages == nullptr ? own_ : messages->diags) {}

  base::Diagnostics& diags() { return to_; }

 private:
  base::Diagnostics own_;
  base::Diagnostics& to_;
};

// Calls `work` with the diagnostics; an exception becomes an error, and `failed` is returned.
template <class Result, class Work>
Result guarded(tilescope_messages* messages, Result failed, Work&& work) {
  Into into(messages);
  try {
    return work(into.diags());
  } catch (const std::exception& e) {
    into.diags().error({into.diags().add_source("tilescope")}, e.what());
  } catch (...) {
    into.diags().error({into.diags().add_source("tilescope")}, "an exception of unknown type");
  }
  return failed;
}

// A handle of a table, null where there is none.
inline tilescope_table* handle(std::unique_ptr<Table> table) {
  return table == nullptr ? nullptr : new tilescope_table{std::move(table)};
}

// The chip with further changes; nullopt after errors.
std::optional<arch::ArchSpec> load(const tilescope_chip& chip, const std::vector<arch::Override>& changes,
                                   base::Diagnostics& diags);

// A text that tilescope_free frees.
char* text_of(const std::string& text);

// The argument as a text; a null pointer is empty.
inline std::string given(const char* text) { return text == nullptr ? "" : text; }

}  // namespace tilescope::library
