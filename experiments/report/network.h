// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope report` of a network: the document of `tilescope network --arch` in the page of reports.

#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::experiments {

// Whether the file is named as such a document: it ends in .json.
bool is_network_document(const std::string& file);

// The document of the page, with the network's as it is. `version` is that of the tool that writes the page. Nullopt
// after errors: the file is no document of a network, is of another format, or contradicts itself.
std::optional<base::Value> network_report(const std::string& file, std::string_view version, base::Diagnostics& diags);

}  // namespace tilescope::experiments
