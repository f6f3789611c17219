// SPDX-License-Identifier: Apache-2.0
// What can be asked about work on a chip: each function finds what kind of work it is, asks api/, and returns a table.

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "api/compile.h"
#include "api/explain.h"
#include "api/network/explain.h"
#include "api/network/times.h"
#include "api/predict.h"
#include "api/simulate/evaluate.h"
#include "api/simulate/simulate.h"
#include "api/verify/verify.h"
#include "library/objects.h"
#include "library/rows.h"
#include "targets/target.h"

using namespace tilescope;
using namespace tilescope::library;

namespace {

// One question: its arguments with the options' usual values where there are none.
struct Question {
  Question(const tilescope_work* w, const tilescope_chip* c, const tilescope_options* o, base::Diagnostics& d)
      : work(*w),
        chip(*c),
        options(o == nullptr ? Options() : o->options),
        changed(with_bands(c->spec, options.bands_anyway)),
        spec(changed ? *changed : c->spec),
        diags(d) {}

  template <class What>
  const What* work_as() const {
    return std::get_if<What>(&work.what);
  }
  // Whether the class of the chip can do it; if not, adds an error.
  template <class Function>
  bool can(targets::Capability<Function> targets::Target::* capability) const {
    const std::string why = targets::why_unsupported(spec, capability);
    if (!why.empty()) diags.error({diags.add_source(chip.name)}, why);
    return why.empty();
  }
  // Refuses work of a kind that the question is not asked of.
  std::unique_ptr<Table> refuse(const char* why) const {
    diags.error({diags.add_source(work.title)}, why);
    return nullptr;
  }
  // The workload under the options' restrictions.
  api::Workload restricted(const api::Workload& of) const {
    api::Workload w = options.restrictions;
    w.suite = of.suite;
    w.op = of.op;
    w.sizes = of.sizes;
    w.shapes = of.shapes;
    w.dtype = of.dtype;
    return w;
  }
  // The work as a source of programs; not for networks.
  api::ProgramSource source() const {
    api::ProgramSource out;
    if (const auto* workload = work_as<api::Workload>()) out.workload = restricted(*workload);
    if (const auto* programs = work_as<api::NamedText>()) out.batch = *programs;
    return out;
  }
  // Progress for the caller, from one thread at a time.
  api::Progress progress() const {
    if (!options.progress) return [](std::size_t, std::size_t) {};
    return [tell = options.progress, one = std::make_shared<std::mutex>()](std::size_t done, std::size_t all) {
      const std::lock_guard lock(*one);
      tell(done, all);
    };
  }

  // The chip with error bands everywhere, if they are asked for.
  static std::optional<arch::ArchSpec> with_bands(const arch::ArchSpec& chip, bool anyway) {
    std::optional<arch::ArchSpec> out;
    if (anyway) out.emplace(chip).error_bands_anyway = true;
    return out;
  }

  const tilescope_work& work;
  const tilescope_chip& chip;
  const Options options;
  const std::optional<arch::ArchSpec> changed;
  const arch::ArchSpec& spec;  // the chip, or `changed`
  base::Diagnostics& diags;
};

using Ask = std::unique_ptr<Table> (*)(const Question&);

tilescope_table* ask(Ask how, const tilescope_work* work, const tilescope_chip* chip, const tilescope_options* options,
                     tilescope_messages* messages) {
  return guarded<tilescope_table*>(messages, nullptr, [&](base::Diagnostics& diags) -> tilescope_table* {
    if (work == nullptr || chip == nullptr) {
      diags.error({diags.add_source("tilescope")}, "expected work and a chip, got a null pointer");
      return nullptr;
    }
    const std::size_t before = diags.count();
    std::unique_ptr<Table> table = how(Question(work, chip, options, diags));
    return diags.count() > before ? nullptr : handle(std::move(table));
  });
}

std::unique_ptr<Table> constructed(const Question& q, const api::Workload& workload, std::size_t top) {
  if (!q.can(&targets::Target::construct)) return nullptr;
  const api::Workload w = q.restricted(workload);
  const int jobs = q.options.threads();
  auto operators =
      q.options.evaluator.simulated > 0
          ? api::compile_simulated(w, q.spec, q.options.search, top, q.options.evaluator, jobs, q.progress(), q.diags)
          : api::compile(w, q.spec, q.options.search, top, jobs, q.progress(), q.diags);
  if (!operators) return nullptr;
  const auto kept = std::make_shared<std::vector<api::CompiledOperator>>(std::move(*operators));
  return std::make_unique<RowsTable<ConstructedRow>>(
      rows_of(*kept), [kept] { return api::to_document(*kept); },
      [kept] { return api::batch_of(api::programs_to_write(*kept)); });
}

std::unique_ptr<Table> timed(const Question& q, const api::NetworkSource& network,
                             std::optional<api::SimulationHow> simulation) {
  if (!q.can(&targets::Target::construct)) return nullptr;
  api::NetworkHow how;
  how.fuse = q.options.restrictions.fuse;
  how.jobs = q.options.threads();
  how.simulation = simulation;
  how.log = q.options.evaluator.log;
  how.constructing = q.progress();
  how.simulating = q.progress();
  auto times = api::time_network(network, q.spec, how, q.diags);
  if (!times) return nullptr;
  const auto kept = std::make_shared<api::NetworkTimes>(std::move(*times));
  return std::make_unique<RowsTable<api::NetworkGroupRow>>(
      kept->groups, [kept] { return base::Value(base::to_entries(*kept)); },
      [kept] { return api::batch_of(kept->programs); });
}

std::unique_ptr<Table> answer_construct(const Question& q) {
  if (const auto* workload = q.work_as<api::Workload>()) return constructed(q, *workload, q.options.top);
  if (const auto* network = q.work_as<api::NetworkSource>()) return timed(q, *network, std::nullopt);
  return q.refuse("has programs already; predict or simulate them");
}

std::unique_ptr<Table> answer_predict(const Question& q) {
  if (const auto* workload = q.work_as<api::Workload>()) return constructed(q, *workload, 1);
  if (const auto* network = q.work_as<api::NetworkSource>()) return timed(q, *network, std::nullopt);
  if (!q.can(&targets::Target::estimate)) return nullptr;
  const auto& programs = *q.work_as<api::NamedText>();
  return std::make_unique<RowsTable<api::PredictedRow>>(
      api::predict_batch(programs.text, programs.name, q.spec, q.options.threads(), q.progress()));
}

std::unique_ptr<Table> answer_simulate(const Question& q) {
  const api::SimulationHow how(q.options.mode, q.options.scale);
  if (!q.can(&targets::Target::simulate) || !api::check_scale(how, q.spec, q.diags)) return nullptr;
  if (const auto* network = q.work_as<api::NetworkSource>()) return timed(q, *network, how);
  auto rows = api::simulate(q.source(), q.spec, how, q.options.threads(), std::nullopt, q.progress(), q.diags);
  if (!rows) return nullptr;
  const bool batch = q.work_as<api::NamedText>() != nullptr;
  return std::make_unique<RowsTable<api::SimulatedRow>>(
      *rows, [rows = *rows, batch] { return api::to_document(rows, batch); });
}

std::unique_ptr<Table> answer_verify(const Question& q) {
  if (q.work_as<api::NetworkSource>() != nullptr)
    return q.refuse("is a network: construct it, and verify the programs of its table");
  if (!q.can(&targets::Target::verify)) return nullptr;
  const auto rows = api::verify(q.source(), q.spec, q.options.threads(), q.progress(), q.diags);
  if (!rows) return nullptr;
  return std::make_unique<RowsTable<api::VerifiedRow>>(
      *rows, [rows = *rows, runs = api::runs_of(q.spec)] { return api::to_document(rows, runs); });
}

std::unique_ptr<Table> answer_explain(const Question& q) {
  if (q.work_as<api::NamedText>() != nullptr) return q.refuse("are programs; explain their operators");
  if (!q.can(&targets::Target::construct)) return nullptr;
  const api::LoadChanged with = [&](const arch::Override& one_more, base::Diagnostics& own) {
    std::vector<arch::Override> changes = q.chip.changes;
    changes.push_back(one_more);
    return load(q.chip, changes, own);
  };
  const int jobs = q.options.threads();
  const auto* network = q.work_as<api::NetworkSource>();
  auto operators =
      network != nullptr
          ? api::explain_network(*network, q.spec, with, jobs, q.progress(), q.progress(), q.diags)
          : api::explain(q.restricted(*q.work_as<api::Workload>()), q.spec, with, jobs, q.progress(), q.diags);
  if (!operators) return nullptr;
  return std::make_unique<RowsTable<ExplainedRow>>(rows_of(*operators),
                                                   [all = *operators] { return api::to_document(all); });
}

}  // namespace

tilescope_table* tilescope_construct(const tilescope_work* work, const tilescope_chip* chip,
                                     const tilescope_options* options, tilescope_messages* messages) {
  return ask(answer_construct, work, chip, options, messages);
}

tilescope_table* tilescope_predict(const tilescope_work* work, const tilescope_chip* chip,
                                   const tilescope_options* options, tilescope_messages* messages) {
  return ask(answer_predict, work, chip, options, messages);
}

tilescope_table* tilescope_simulate(const tilescope_work* work, const tilescope_chip* chip,
                                    const tilescope_options* options, tilescope_messages* messages) {
  return ask(answer_simulate, work, chip, options, messages);
}

tilescope_table* tilescope_verify(const tilescope_work* work, const tilescope_chip* chip,
                                  const tilescope_options* options, tilescope_messages* messages) {
  return ask(answer_verify, work, chip, options, messages);
}

tilescope_table* tilescope_explain(const tilescope_work* work, const tilescope_chip* chip,
                                   const tilescope_options* options, tilescope_messages* messages) {
  return ask(answer_explain, work, chip, options, messages);
}
