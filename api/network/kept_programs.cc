// SPDX-License-Identifier: Apache-2.0
#include "api/network/detail/kept_programs.h"

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "api/simulate/code_version.h"
#include "arch/load.h"
#include "base/document.h"
#include "base/hash.h"
#include "model/common/estimate.h"
#include "tile/program_json.h"

namespace tilescope::api {
namespace {

constexpr const char *kKey = "key", *kVersion = "version", *kProgram = "program", *kError = "error";

const std::string* text_at(const base::Value& line, const char* key) {
  const base::Value* v = line.find(key);
  return v == nullptr ? nullptr : v->get_if<std::string>();
}

}  // namespace

KeptPrograms::KeptPrograms(const std::string& file, const arch::ArchSpec& chip)
    : name_(file),
      chip_(chip),
      estimate_(targets::target_of(chip).estimate(chip)),
      about_(base::to_json(arch::to_document(chip)) + " ") {
  std::error_code failed;
  if (std::filesystem::exists(file, failed) && !std::filesystem::is_regular_file(file, failed))
    throw std::runtime_error(fmt::format("{}: expected a file of constructed programs", file));
  std::ifstream in(file);
  bool was_cut_off = false, is_own = false;
  std::size_t others = 0;
  for (std::string text; std::getline(in, text);) {
    was_cut_off = in.eof();
    base::Diagnostics unread;
    auto line = base::read_json(text, unread.add_source(file), unread);
    const std::string* key = line ? text_at(*line, kKey) : nullptr;
    const std::string* version = line ? text_at(*line, kVersion) : nullptr;
    if (key == nullptr || version == nullptr) {
      others += text.empty() ? 0 : 1;
      continue;
    }
    is_own = true;
    if (*version == results_version())
      lines_.insert_or_assign(*key, *std::move(line));
    else
      ++of_other_versions_;
  }
  if (others > 0 && !is_own) throw std::runtime_error(fmt::format("{}: holds other things than programs", file));
  file_.open(file, std::ios::app);
  if (was_cut_off) file_ << '\n';
  if (!file_.flush()) throw std::runtime_error(fmt::format("{}: cannot be written", file));
}

std::optional<Ranked> KeptPrograms::find(const std::string& text) {
  const auto found = lines_.find(base::content_hash(about_ + text));
  if (found == lines_.end()) return std::nullopt;
  Ranked out;
  if (const std::string* error = text_at(found->second, kError)) {
    out.error = *error;
    return out;
  }
  const base::Value* document = found->second.find(kProgram);
  base::Diagnostics unread;
  auto program = document == nullptr ? std::nullopt : tile::read_program(*document, chip_, unread);
  auto estimate = program ? estimate_(*program, nullptr, {}) : std::nullopt;
  if (!estimate) return std::nullopt;  // it is constructed again
  out.programs.push_back({*std::move(program), *std::move(estimate)});
  return out;
}

void KeptPrograms::add(const std::string& text, const Ranked& found) {
  base::Map line = {{kKey, base::content_hash(about_ + text)}, {kVersion, results_version()}};
  if (found.programs.empty())
    line.push_back({kError, found.error});
  else
    line.push_back({kProgram, tile::to_document(found.programs.front().program, chip_)});
  const std::string json = base::to_json(std::move(line));
  const std::lock_guard lock(one_at_a_time_);
  file_ << json << '\n';
  if (!file_.flush()) throw std::runtime_error(fmt::format("{}: cannot be written", name_));
}

}  // namespace tilescope::api
