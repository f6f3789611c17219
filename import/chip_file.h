// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of a chip's file that has given figures: one that extends a device, or a whole memory.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/load.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::importers {

// A figure with the comment behind it: its mark and its source.
struct FileFigure {
  std::string path, value, comment;
};

struct ChipFile {
  std::vector<std::string> head;  // lines of the comment at the top
  std::string extends;            // empty for a whole file
  std::string name, title;
  std::string chip_class;  // of a whole file
  std::vector<FileFigure> figures;
};

// The file's text. `chip` is the document that the paths are of: the device's, or the levels of a whole file.
std::string text_of(const ChipFile& file, const base::Value& chip, base::Diagnostics& diags);

// A text with which YAML reads the value again.
std::string in_quotes(std::string_view text);

// Words that a chip's name may have: letters, digits and _, none of others.
std::string chip_name_of(std::string_view text);

}  // namespace tilescope::importers
