// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of a store is JSON in a column, to text and back; for the .cc files of experiments/ alone.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/simulation.h"
#include "base/document.h"
#include "experiments/store/detail/described.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

std::string text_of(const std::vector<StoredValue>& values);
std::string text_of(const std::vector<StoredDifference>& differences);
std::string text_of(const std::vector<StoredAxis>& axes);
std::string text_of(const std::optional<StoredMultiFidelity>& multi_fidelity);  // empty where there is none
std::string text_of(const std::optional<StoredObjectives>& objectives);         // likewise
std::string text_of(const std::optional<StoredPlan>& plan);                     // likewise
std::string text_of(const std::vector<std::optional<double>>& inputs);          // likewise
// {COLUMN: [NAME, ...], ...}, such as {"terms": ["issue", "l2"], "levels": ["dram", "l2"]}.
std::string text_of(const NumberNames& names);

// What the functions above wrote, and base::to_json of to_entries. What is no such text is CorruptStore.
std::vector<StoredValue> values_of_text(const std::string& text);
std::vector<StoredDifference> differences_of_text(const std::string& text);
std::vector<StoredAxis> axes_of_text(const std::string& text);
std::optional<StoredMultiFidelity> multi_fidelity_of_text(const std::string& text);
std::optional<StoredObjectives> objectives_of_text(const std::string& text);
std::optional<StoredPlan> plan_of_text(const std::string& text);
std::vector<std::optional<double>> inputs_of_text(const std::string& text);
NumberNames names_of_text(const std::string& text);
Chosen chosen_of_text(const std::string& text);
api::Simulation simulation_of_text(const std::string& text);
base::Value document_of_text(const std::string& text);

}  // namespace tilescope::experiments
