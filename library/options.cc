// SPDX-License-Identifier: Apache-2.0
#include "library/options.h"

#include <algorithm>
#include <array>
#include <limits>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/choices.h"
#include "base/parse_number.h"

namespace tilescope::library {
namespace {

// Readers of texts: each returns what was expected, or nothing.
using Set = std::function<std::string(Options&, const std::string&)>;

template <class T, class Number>
Set whole(Number T::* member, T Options::* part, std::int64_t least, std::int64_t most) {
  return [=](Options& o, const std::string& text) -> std::string {
    const auto value = base::parse_integer<std::int64_t>(text);
    if (!value || *value < least || *value > most) return fmt::format("a whole number from {} to {}", least, most);
    (o.*part).*member = static_cast<Number>(*value);
    return {};
  };
}

template <class Number>
Set whole(Number Options::* member, std::int64_t least, std::int64_t most) {
  return [=](Options& o, const std::string& text) -> std::string {
    const auto value = base::parse_integer<std::int64_t>(text);
    if (!value || *value < least || *value > most) return fmt::format("a whole number from {} to {}", least, most);
    o.*member = static_cast<Number>(*value);
    return {};
  };
}

Set truth(const std::function<bool&(Options&)>& member) {
  return [=](Options& o, const std::string& text) -> std::string {
    if (text != "true" && text != "false") return "true or false";
    member(o) = text == "true";
    return {};
  };
}

// One of `choices`, which gives names and values.
template <class T, std::size_t n>
Set one_of(const api::Choices<T, n>& choices, const std::function<void(Options&, T)>& put) {
  return [=](Options& o, const std::string& text) -> std::string {
    const auto value = api::chosen(choices, text);
    if (value) return put(o, *value), std::string();
    std::vector<std::string_view> names;
    for (const auto& [name, choice] : choices) names.push_back(name);
    return fmt::format("one of {}", fmt::join(names, ", "));
  };
}

constexpr api::Choices<bool, 2> kStores = {{{"any", false}, {"direct", true}}};
constexpr api::Choices<bool, 2> kBands = {{{"measured", false}, {"extrapolated", true}}};
constexpr api::Choices<api::SimulationMode, 3> kModes = {{{api::kSimulationModes[0], api::SimulationMode::kFull},
                                                          {api::kSimulationModes[1], api::SimulationMode::kSampled},
                                                          {api::kSimulationModes[2], api::SimulationMode::kScaled}}};

std::string set_search(Options& o, const std::string& text) {
  base::Diagnostics own;
  const auto search = api::search_of(text, own);
  if (search) return o.search.search = *search, std::string();
  return fmt::format("one of {}", fmt::join(api::search_names(), ", "));
}

std::string set_evaluator(Options& o, const std::string& text) {
  const auto simulated = api::parse_evaluator(text);
  if (simulated) return o.evaluator.simulated = *simulated, std::string();
  return api::kEvaluators;
}

constexpr std::int64_t kMostTop = 1000, kMostJobs = 256, kMostBudget = 1'000'000, kMostSeed = 1'000'000'000,
                       kMostScale = 1 << 20;

}  // namespace

int Options::threads() const {
  return jobs > 0 ? jobs : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> kAll = {
      {"top", "10", "How many programs of every operator are kept.", whole(&Options::top, 1, kMostTop)},
      {"search", "roller", "How programs are found.", set_search},
      {"budget", "", "Programs of a stage that a search which tries programs may try.",
       whole(&api::SearchOptions::budget, &Options::search, 1, kMostBudget)},
      {"seed", "", "Seed of the searches that draw.", whole(&api::SearchOptions::seed, &Options::search, 0, kMostSeed)},
      {"pareto", "false", "Keep the programs that no other beats both in time and in memory of a core.",
       truth([](Options& o) -> bool& { return o.search.pareto; })},
      {"evaluator", "model", "Who ranks programs: model, or sim=8, the simulator among eight and as many others.",
       set_evaluator},
      {"log", "", "File of simulated times or of a network's programs: added to, and read where they are known.",
       [](Options& o, const std::string& text) { return o.evaluator.log = text, std::string(); }},
      {"instruction", "", "The only matrix instruction of the chip that programs may use, by its name, or none.",
       [](Options& o, const std::string& text) { return o.restrictions.instruction = text, std::string(); }},
      {"stores", "any", "How results leave a block: from registers (direct), or as is fastest (any).",
       one_of<bool>(kStores, [](Options& o, bool direct) { o.restrictions.direct_stores = direct; })},
      {"fuse", "all", "Which stages may become one: none, elementwise ones (inline), or all that can share a kernel.",
       one_of<base::Fuse>(api::kFuse, [](Options& o, base::Fuse fuse) { o.restrictions.fuse = fuse; })},
      {"dataflow", "", "The only way in which inputs reach cores that exchange data.",
       one_of<base::Dataflow>(api::kDataflow, [](Options& o, base::Dataflow d) { o.restrictions.dataflow = d; })},
      {"tensor_location", "", "Where inputs and results of cores that exchange data are stored.",
       one_of<base::TensorLocation>(api::kTensorLocation,
                                    [](Options& o, base::TensorLocation t) { o.restrictions.tensor_location = t; })},
      {"inputs_prearranged", "false", "Inputs of cores that exchange data are stored as programs need them.",
       truth([](Options& o) -> bool& { return o.restrictions.inputs_prearranged; })},
      {"sequence", "false", "The operators of a suite run one after another, and caches keep what they left.",
       truth([](Options& o) -> bool& { return o.restrictions.sequence; })},
      {"small", "false", "Every operator is scaled down.",
       truth([](Options& o) -> bool& { return o.restrictions.small; })},
      {"mode", "sampled", "How much of a program is simulated: full, sampled or scaled.",
       one_of<api::SimulationMode>(kModes, [](Options& o, api::SimulationMode m) { o.mode = m; })},
      {"scale", "", "In mode scaled: one of so many cores, slices and channels is simulated.",
       whole(&Options::scale, 1, kMostScale)},
      {"error_bands", "measured", "Error bands of times: where they were measured, or also elsewhere (extrapolated).",
       one_of<bool>(kBands, [](Options& o, bool anyway) { o.bands_anyway = anyway; })},
      {"jobs", "", "Threads or processes that share the work; as many as the machine has where absent.",
       whole(&Options::jobs, 1, kMostJobs)},
      {"memory", "", "Bytes of programs that the chips of a sweep share; a quarter of the machine's where absent.",
       whole(&Options::memory, 1, std::numeric_limits<std::int64_t>::max())},
  };
  return kAll;
}

bool set(Options& options, std::string_view name, const std::string& value, base::Diagnostics& diags) {
  const std::vector<Setting>& all = settings();
  const auto found = std::ranges::find(all, name, &Setting::name);
  if (found != all.end()) {
    const std::string expected = found->set(options, value);
    if (expected.empty()) return true;
    diags.error({diags.add_source(fmt::format("option {}", name))},
                fmt::format("expected {}, got '{}'", expected, value));
    return false;
  }
  std::vector<std::string_view> names;
  for (const Setting& s : all) names.push_back(s.name);
  diags.error({diags.add_source(fmt::format("option {}", name))},
              fmt::format("there is no such option{}; expected one of {}", base::did_you_mean(name, names),
                          fmt::join(names, ", ")));
  return false;
}

}  // namespace tilescope::library
