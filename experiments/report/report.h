// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope report`: a sweep of a store as one HTML file. All figures are computed here, as the columns of one
// document (docs/json.md, REPORT); the page (web/) draws, filters and highlights them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/document.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

inline constexpr int kReportFormat = 1;  // of the document; web/src/data.ts reads no other

// The document of the sweep. `version` is that of the tool that writes it; `sensitivities` are those that
// sensitivities_of has read. Throws StoreError where the store cannot be read.
base::Value report_document(const Store& store, const StoredSweep& sweep, const std::string& store_path,
                            std::string_view version, base::List sensitivities = {});

// Path of the template: the page without data.
std::string report_template_path();

// Why there is no template at that path, and how to get it; nullopt where there is one.
std::optional<std::string> why_no_template(const std::string& path);

// Fills the template with the document. Returns the file's size in bytes. Throws std::runtime_error where the template
// cannot be read or has no slot for the document, or where the file cannot be written.
std::size_t write_report(const base::Value& document, const std::string& template_path, const std::string& path);

}  // namespace tilescope::experiments
