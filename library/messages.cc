// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>

#include "api/simulate/code_version.h"
#include "library/objects.h"

using namespace tilescope;

namespace tilescope::library {

char* text_of(const std::string& text) {
  char* out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out != nullptr) std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

}  // namespace tilescope::library

const char* tilescope_version(void) {
  static const std::string kVersion = api::version();
  return kVersion.c_str();
}

void tilescope_free(char* text) { std::free(text); }

tilescope_messages* tilescope_messages_new(void) { return new tilescope_messages; }

void tilescope_messages_free(tilescope_messages* messages) { delete messages; }

size_t tilescope_messages_count(const tilescope_messages* messages) {
  return messages->diags.errors().size() + messages->diags.notes().size();
}

tilescope_message tilescope_messages_at(const tilescope_messages* messages, size_t index) {
  const base::Diagnostics& d = messages->diags;
  const bool is_error = index < d.errors().size();
  const base::Diagnostic& m = is_error ? d.errors()[index] : d.notes()[index - d.errors().size()];
  return {is_error ? 1 : 0, d.source_name(m.at.source).c_str(), m.at.line, m.at.column, m.text.c_str()};
}
