// SPDX-License-Identifier: Apache-2.0
// A report's document in its page: the template with one place for it, and the file.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "api/common/new_file.h"
#include "base/home.h"
#include "experiments/report/report.h"

namespace tilescope::experiments {
namespace {

constexpr std::string_view kPlace = "/*@@TILESCOPE_REPORT@@*/";

// JSON within a <script>: no text of a store can end the element or open another.
std::string for_a_script(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw std::runtime_error(fmt::format("{}: cannot be read", path));
  return text;
}

}  // namespace

std::string report_template_path() { return base::home_path("build/web/report.html"); }

std::optional<std::string> why_no_template(const std::string& path) {
  if (std::filesystem::exists(path)) return std::nullopt;
  return fmt::format(
      "{}: the page of reports is not built; it takes Node.js 18 or later and npm: install them and run ./dev web",
      path);
}

std::size_t write_report(const base::Value& document, const std::string& template_path, const std::string& path) {
  const std::string page = text_of(template_path);
  const std::size_t place = page.find(kPlace);
  if (place == std::string::npos || page.find(kPlace, place + 1) != std::string::npos)
    throw std::runtime_error(fmt::format("{}: is no page of reports; ./dev web builds one", template_path));
  const std::string data = for_a_script(base::to_json(document));
  api::NewFile file(path);
  file.write(std::string_view(page).substr(0, place));
  file.write(data);
  file.write(std::string_view(page).substr(place + kPlace.size()));
  file.finish();
  return page.size() - kPlace.size() + data.size();
}

}  // namespace tilescope::experiments
