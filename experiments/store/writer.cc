// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/writer.h"

#include <iterator>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "experiments/store/detail/columns.h"
#include "experiments/store/detail/corrupt_store.h"
#include "experiments/store/detail/described.h"
#include "experiments/store/detail/file.h"
#include "experiments/store/detail/lock.h"
#include "experiments/store/detail/shards.h"
#include "experiments/store/detail/text.h"

namespace tilescope::experiments {
namespace {

using SQLite::Statement;

// The columns of a row behind those of its prediction.
constexpr const char* kBehindPrediction[] = {"simulated_us", "measured_us", "names", "numbers", "simulation", "error"};

void set(Statement& s, int i, const std::optional<double>& v) {
  if (v)
    s.bind(i, *v);
  else
    s.bind(i);
}

void set(Statement& s, int i, const std::string& v) {
  if (v.empty())
    s.bind(i);
  else
    s.bindNoCopy(i, v);
}

std::int64_t id_of(Content c) { return static_cast<std::int64_t>(c); }

void set(Statement& s, int i, const std::optional<Content>& v) {
  if (v)
    s.bind(i, id_of(*v));
  else
    s.bind(i);
}

RowIds ids_of(const RowKey& key) { return {id_of(key.chip), id_of(key.request), id_of(key.workload)}; }

void set(Statement& s, const RowKey& key) {
  s.bind(1, id_of(key.chip));
  s.bind(2, id_of(key.request));
  s.bind(3, id_of(key.workload));
}

}  // namespace

RowTexts::RowTexts(const StoredRow& r, std::string program_document)
    : row(r),
      simulation(r.simulation ? base::to_json(to_entries(*r.simulation)) : std::string()),
      program(std::move(program_document)),
      program_hash(program.empty() ? std::string() : base::content_hash(program)) {
  if (!r.prediction) return;
  NumberPacker nested = packed(*r.prediction);
  names = text_of(nested.names);
  numbers = std::move(nested.bytes);
}

struct StoreWriter::Open {
  Open(std::string name, std::unique_ptr<StoreLock> held, std::unique_ptr<SQLite::Database> opened)
      : path(std::move(name)), lock(std::move(held)), file(std::move(opened)) {}

  void begin() {
    if (!transaction) transaction.emplace(*file, SQLite::TransactionBehavior::IMMEDIATE);
  }
  void commit() {
    if (!transaction) return;
    transaction->commit();
    transaction.reset();
  }

  // The id of the content of that hash, or nothing.
  static std::optional<Content> find(Statement& select, const std::string& hash) {
    select.reset();
    select.bindNoCopy(1, hash);
    if (!select.executeStep()) return std::nullopt;
    return Content{select.getColumn(0).getInt64()};
  }
  Content put(const char* table, const std::string& hash, const std::string& document) {
    Statement select(*file, fmt::format("SELECT id FROM {} WHERE hash = ?", table));
    if (const auto known = find(select, hash)) return *known;
    begin();
    Statement insert(*file, fmt::format("INSERT INTO {} (hash, document) VALUES (?, ?)", table));
    insert.bindNoCopy(1, hash);
    insert.bindNoCopy(2, document);
    insert.exec();
    return Content{file->getLastInsertRowid()};
  }

  void insert(std::int64_t sweep, const std::vector<NewPoint>& points) {
    Statement point(*file, "INSERT INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, ?, ?)");
    for (const NewPoint& p : points) {
      point.reset();
      point.bind(1, sweep);
      point.bind(2, static_cast<std::int64_t>(p.point.ordinal));
      point.bind(3, p.point.base);
      point.bind(4, p.point.is_base ? 1 : 0);
      point.bind(5, static_cast<std::int64_t>(p.base_ordinal));
      point.bind(6, text_of(p.point.at));
      point.bind(7, text_of(p.point.differences));
      set(point, 8, p.chip);
      set(point, 9, p.request);
      set(point, 10, p.point.refused);
      set(point, 11, p.point.cost);
      const std::string inputs = text_of(p.point.inputs);
      set(point, 12, inputs);
      set(point, 13, p.point.pruned);
      point.exec();
    }
  }

  // Of the names of a row's numbers. Few texts are all that there are.
  Content names_of(const RowTexts& t) {
    const auto known = names.find(t.names);
    if (known != names.end()) return known->second;
    return names.emplace(t.names, put("names", base::content_hash(t.names), t.names)).first->second;
  }

  std::string path;
  std::unique_ptr<StoreLock> lock;
  std::unique_ptr<SQLite::Database> file;
  std::optional<SQLite::Transaction> transaction;
  std::unordered_map<std::string, Content> names;

  // Of the rows, of which there are many.
  Statement find_row{*file,
                     "SELECT error, simulated_us, predicted_us FROM rows "
                     "WHERE chip = ? AND request = ? AND workload = ?"};
  Statement find_program{*file, "SELECT id FROM programs WHERE hash = ?"};
  Statement add_program{*file, "INSERT INTO programs (hash, document) VALUES (?, ?)"};
  Statement add_row{*file, insert_row()};

  // The chip, request, workload and program, the elements of the prediction, then what kBehindPrediction names.
  static std::string insert_row() {
    std::string marks = "?, ?, ?, ?";
    for (std::size_t i = 0; i < sql_columns<api::Prediction>().size() + std::size(kBehindPrediction); ++i)
      marks += ", ?";
    return fmt::format("INSERT OR IGNORE INTO rows (chip, request, workload, program, {}, {}) VALUES ({})",
                       sql_names<api::Prediction>(), fmt::join(kBehindPrediction, ", "), marks);
  }
};

StoreWriter::StoreWriter(std::unique_ptr<Open> open) : open_(std::move(open)) {}
StoreWriter::StoreWriter(StoreWriter&&) noexcept = default;
StoreWriter& StoreWriter::operator=(StoreWriter&&) noexcept = default;
StoreWriter::~StoreWriter() = default;

std::optional<StoreWriter> StoreWriter::open(const std::string& path, const std::string& tool_version,
                                             base::Diagnostics& diags, const std::optional<ShardOfSweep>& shard) {
  auto lock = StoreLock::take(path, diags);
  if (lock == nullptr) return std::nullopt;
  auto file = open_to_write(path, tool_version, shard, diags);
  if (file == nullptr) return std::nullopt;
  lock->keep();
  return on_file(path, [&] { return StoreWriter(std::make_unique<Open>(path, std::move(lock), std::move(file))); });
}

const std::string& StoreWriter::path() const { return open_->path; }

Content StoreWriter::chip(const std::string& identity, const std::string& name, const base::Value& document) {
  return on_file(open_->path, [&] {
    const std::string hash = base::content_hash(identity);
    Statement select(*open_->file, "SELECT id FROM chips WHERE hash = ?");
    if (const auto known = Open::find(select, hash)) return *known;
    open_->begin();
    Statement insert(*open_->file, "INSERT INTO chips (hash, name, document) VALUES (?, ?, ?)");
    insert.bind(1, hash);
    insert.bind(2, name);
    insert.bind(3, base::to_json(document));
    insert.exec();
    return Content{open_->file->getLastInsertRowid()};
  });
}

Content StoreWriter::workload(const base::Value& document) {
  const std::string text = base::to_json(document);
  return on_file(open_->path, [&] { return open_->put("workloads", base::content_hash(text), text); });
}

Content StoreWriter::request(const base::Value& document) {
  const std::string text = base::to_json(document);
  return on_file(open_->path, [&] { return open_->put("requests", base::content_hash(text), text); });
}

std::int64_t StoreWriter::put_sweep(const StoredSweep& sweep, const std::vector<NewPoint>& points,
                                    const std::vector<NewWorkload>& workloads, const std::string& plan) {
  return on_file(open_->path, [&] {
    open_->begin();
    Statement put(
        *open_->file,
        "INSERT INTO sweeps (title, file, text, evaluator, axes, multi_fidelity, objectives, plan) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (title) DO UPDATE SET file = excluded.file, text = excluded.text, evaluator = excluded.evaluator, "
        "axes = excluded.axes, multi_fidelity = excluded.multi_fidelity, objectives = excluded.objectives, "
        "plan = excluded.plan RETURNING id");
    put.bind(1, sweep.title);
    put.bind(2, sweep.file);
    put.bind(3, sweep.text);
    put.bind(4, sweep.evaluator);
    put.bind(5, text_of(sweep.axes));
    const std::string multi_fidelity = text_of(sweep.multi_fidelity);
    const std::string objectives = text_of(sweep.objectives), chosen_by = text_of(sweep.plan);
    set(put, 6, multi_fidelity);
    set(put, 7, objectives);
    set(put, 8, chosen_by);
    put.executeStep();
    const std::int64_t id = put.getColumn(0).getInt64();
    put.reset();
    for (const char* table : {"points", "sweep_workloads"})
      open_->file->exec(fmt::format("DELETE FROM {} WHERE sweep = {}", table, id));
    open_->insert(id, points);
    Statement workload(*open_->file, "INSERT INTO sweep_workloads VALUES (?, ?, ?, ?, ?, ?)");
    for (std::size_t w = 0; w < workloads.size(); ++w) {
      workload.reset();
      workload.bind(1, id);
      workload.bind(2, static_cast<std::int64_t>(w));
      workload.bind(3, workloads[w].name);
      workload.bind(4, workloads[w].kind);
      workload.bind(5, workloads[w].weight);
      workload.bind(6, id_of(workloads[w].workload));
      workload.exec();
    }
    put_shards(*open_->file, id, sweep.shards, plan);
    open_->commit();
    return id;
  });
}

void StoreWriter::add_points(std::int64_t sweep, const std::vector<NewPoint>& points) {
  on_file(open_->path, [&] {
    open_->begin();
    open_->insert(sweep, points);
    open_->commit();
  });
}

void StoreWriter::put_plan(std::int64_t sweep, const StoredPlan& plan) {
  on_file(open_->path, [&] {
    open_->begin();
    Statement s(*open_->file, "UPDATE sweeps SET plan = ? WHERE id = ?");
    s.bind(1, text_of(std::optional(plan)));
    s.bind(2, sweep);
    s.exec();
    open_->commit();
  });
}

void StoreWriter::complete(std::int64_t sweep) {
  on_file(open_->path, [&] {
    open_->begin();
    if (has_shards_table(*open_->file))
      open_->file->exec(fmt::format("UPDATE shards SET complete = 1 WHERE sweep = {}", sweep));
    open_->commit();
  });
}

void StoreWriter::choose(std::int64_t sweep, const StoredMultiFidelity& multi_fidelity,
                         const std::vector<ChosenPoint>& points) {
  on_file(open_->path, [&] {
    open_->begin();
    Statement state(*open_->file, "UPDATE sweeps SET multi_fidelity = ? WHERE id = ?");
    state.bind(1, text_of(std::optional(multi_fidelity)));
    state.bind(2, sweep);
    state.exec();
    Statement point(*open_->file,
                    "UPDATE points SET chosen = ?, simulated_request = ? WHERE sweep = ? AND ordinal = ?");
    for (const ChosenPoint& p : points) {
      point.reset();
      const std::string chosen(name_of(p.chosen));
      set(point, 1, chosen);
      point.bind(2, id_of(p.request));
      point.bind(3, sweep);
      point.bind(4, static_cast<std::int64_t>(p.ordinal));
      point.exec();
    }
    open_->commit();
  });
}

std::optional<KnownRow> StoreWriter::find(const RowKey& key) {
  return on_file(open_->path, [&] {
    Statement& s = open_->find_row;
    s.reset();
    set(s, key);
    std::optional<KnownRow> out;
    if (s.executeStep()) {
      try {
        out.emplace();
        const auto simulated_us = real_in(s.getColumn(1)), predicted_us = real_in(s.getColumn(2));
        if (text_in(s.getColumn(0)).empty()) out->time_us = simulated_us ? simulated_us : predicted_us;
      } catch (const CorruptStore& d) {
        throw_damaged_row(*open_->file, open_->path, ids_of(key), d.column());
      }
    }
    s.reset();
    return out;
  });
}

std::optional<std::string> StoreWriter::program_of(const RowKey& key) {
  return on_file(open_->path, [&]() -> std::optional<std::string> {
    Statement s(*open_->file,
                "SELECT g.document FROM rows r JOIN programs g ON g.id = r.program "
                "WHERE r.chip = ? AND r.request = ? AND r.workload = ?");
    set(s, key);
    if (!s.executeStep()) return std::nullopt;
    return s.getColumn(0).getString();
  });
}

void StoreWriter::add(const RowKey& key, const RowTexts& t) {
  on_file(open_->path, [&] {
    open_->begin();
    std::optional<Content> program;
    if (!t.program.empty()) {
      program = Open::find(open_->find_program, t.program_hash);
      open_->find_program.reset();
    }
    if (!t.program.empty() && !program) {
      open_->add_program.reset();
      open_->add_program.bindNoCopy(1, t.program_hash);
      open_->add_program.bindNoCopy(2, t.program);
      open_->add_program.exec();
      program = Content{open_->file->getLastInsertRowid()};
    }
    Statement& s = open_->add_row;
    s.reset();
    s.clearBindings();
    set(s, key);
    set(s, 4, program);
    constexpr int kPrediction = 5;
    const int behind = kPrediction + static_cast<int>(sql_columns<api::Prediction>().size());
    set(s, behind, t.row.simulation ? std::optional(t.row.simulation->simulated_us) : std::nullopt);
    set(s, behind + 1, t.row.measured_us);
    if (t.row.prediction) {
      RowBinder prediction(s, kPrediction);
      describe(prediction, *t.row.prediction);
      s.bind(behind + 2, id_of(open_->names_of(t)));
      s.bindNoCopy(behind + 3, t.numbers.data(), static_cast<int>(t.numbers.size()));
    }
    set(s, behind + 4, t.simulation);
    set(s, behind + 5, t.row.error);
    s.exec();
  });
}

void StoreWriter::commit() {
  on_file(open_->path, [&] { open_->commit(); });
}

}  // namespace tilescope::experiments
