// SPDX-License-Identifier: Apache-2.0
// The operators of a sweep's file, with their weights.

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "api/network/operators.h"
#include "api/operator_kind.h"
#include "api/workload.h"
#include "base/dtype.h"
#include "base/fields.h"
#include "experiments/sweep/detail/spec.h"
#include "expr/infer.h"
#include "expr/parse_args.h"
#include "expr/suites.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using base::Value;

constexpr std::array kFuses = {base::Fuse::kNone, base::Fuse::kAll};
constexpr double kMaxWeight = 1e12;  // totals stay far from the ends of doubles

class WorkloadsReader {
 public:
  WorkloadsReader(bool sequence, const std::vector<SweepBase>& bases, const SweepFile& file)
      : sequence_(sequence), bases_(bases), file_(file), diags_(file.diags) {}

  SweepWorkloads read(const Value& workloads) {
    const base::List* items = base::as_list(&workloads, "workloads", diags_);
    if (items == nullptr) return {};
    if (items->empty()) diags_.error(workloads.at, "workloads: no operator; list one at least");
    for (const Value& item : *items)
      if (const Value* network = item.find("network"))
        if (const auto* name = network->get_if<std::string>()) ++listed_[*name];
    for (const Value& item : *items) read_item(item);
    return {std::move(out_), std::move(tensors_)};
  }

 private:
  void read_item(const Value& item) {
    tensors_.begin_list();
    base::Fields f(item, "a workload", diags_);
    const Value* suite = f.take("suite");
    const Value* op = f.take("op");
    const Value* network = f.take("network");
    const double weight = read_weight(f.take("weight"));
    const Value* dtype = f.take("dtype");
    const int kinds = (suite != nullptr) + (op != nullptr) + (network != nullptr);
    if (item.is_map() && kinds != 1) diags_.error(item.at, "a workload has one of suite, op and network");
    if (network != nullptr) {
      const Value* sizes = f.take("size");
      const Value* fuse = f.take("fuse");
      f.finish();
      if (kinds == 1) read_network(*network, sizes, fuse, dtype, weight);
    } else if (suite != nullptr) {
      const Value* only = f.take("only");
      const Value* sizes = f.take("size");
      f.finish();
      read_suite(*suite, only, sizes, dtype, weight);
    } else {
      read_operator(f, item, op, dtype, weight);
    }
  }

  double read_weight(const Value* v) {
    const auto weight = base::as_number(v, "weight", diags_);
    if (weight && (*weight <= 0 || *weight > kMaxWeight))
      diags_.error(v->at, "weight: expected a number above 0 and at most 1e12");
    return weight.value_or(1);
  }

  void read_suite(const Value& suite, const Value* only, const Value* sizes, const Value* dtype, double weight) {
    const auto of_all = base::as_choice(dtype, "dtype", base::dtype_names(), diags_);
    if (dtype != nullptr && !of_all) return;
    const auto name = base::as_text(&suite, "suite", diags_);
    if (!name) return;
    if (!expr::is_suite_file(*name) && !base::as_choice(&suite, "suite", expr::suite_names(), diags_)) return;
    std::optional<std::vector<expr::GivenSize>> variables(std::in_place);
    const auto given = base::as_text(sizes, "size", diags_);
    if (given) variables = expr::parse_sizes(*given, file_.text_at(*sizes), diags_);
    if (!variables) return;
    const std::string path = expr::is_suite_file(*name) ? file_.path_of(*name) : *name;
    const auto read = expr::read_suite(path, of_all ? std::optional(static_cast<base::Dtype>(*of_all)) : std::nullopt,
                                       *variables, diags_);
    auto operators = read ? api::expressions_of(*read, false, diags_) : std::nullopt;
    if (!operators) return;
    const std::vector<std::string_view> chosen = read_only(only, *operators);
    for (api::NamedExpression& op : *operators) {
      const bool runs = only == nullptr || std::find(chosen.begin(), chosen.end(), op.id) != chosen.end();
      const std::size_t number = tensors_.count();
      if (sequence_) tensors_.add(op.id, op.expression, op.inputs, diags_, runs);
      if (!runs) continue;
      const double counted = weight * static_cast<double>(op.count);
      add({op.id, op.kind, counted, std::move(op.expression), {}, suite.at, number}, suite.at, Given::kBySuite,
          given.value_or(""));
    }
  }

  // Its groups on the first base: those that share kernels there are one operator at every point. Their names begin
  // with the network's, and its sizes and element type where it is listed several times.
  void read_network(const Value& network, const Value* sizes, const Value* fuse, const Value* dtype, double weight) {
    const auto name = base::as_text(&network, "network", diags_);
    const auto given = base::as_text(sizes, "size", diags_);
    const auto of_all = base::as_text(dtype, "dtype", diags_);
    const auto how = base::as_choice(fuse, "fuse", {"none", "all"}, diags_);
    if (!name || bases_.empty() || !diags_.ok()) return;
    Diagnostics own;
    auto operators = api::operators_of_network(
        {file_.path_of(*name), given.value_or(""), of_all.value_or("")}, bases_.front().chip,
        how ? kFuses[*how] : base::Fuse::kAll, sequence_ ? api::Repeats::kListed : api::Repeats::kCounted, file_.jobs,
        [](std::size_t, std::size_t) {}, own);
    for (const base::Diagnostic& e : own.errors())
      diags_.error(network.at,
                   fmt::format("network: {}", e.at.line == 0 ? fmt::format("'{}': {}", *name, e.text) : own.format(e)));
    if (!operators) return;
    for (const base::Diagnostic& n : own.notes()) diags_.note(network.at, n.text);
    std::string label = *name;
    for (const auto& more : {given, of_all})
      if (more && listed_[*name] > 1) label += " " + *more;
    for (auto& [op, arrays] : *operators) {
      const std::size_t number = tensors_.count();
      if (sequence_) tensors_.add(op.expression, arrays);
      add({fmt::format("{}: {}", label, op.id),
           op.kind,
           weight * static_cast<double>(op.count),
           std::move(op.expression),
           {},
           network.at,
           number},
          network.at, Given::kByNetwork);
    }
  }

  std::vector<std::string_view> read_only(const Value* only, const std::vector<api::NamedExpression>& operators) {
    std::vector<std::string_view> ids, chosen;
    for (const api::NamedExpression& op : operators) ids.push_back(op.id);
    const base::List* list = base::as_list(only, "only", diags_);
    if (list == nullptr) return chosen;
    if (list->empty()) diags_.error(only->at, "only: no operator; leave it out for all of them");
    for (const Value& v : *list) {
      const auto* id = v.get_if<std::string>();
      if (id != nullptr && std::find(ids.begin(), ids.end(), *id) != ids.end())
        chosen.push_back(*id);
      else
        diags_.error(v.at, fmt::format("the suite has no operator {}{}", v.describe(),
                                       id == nullptr ? "" : base::did_you_mean(*id, ids)));
    }
    return chosen;
  }

  api::OperatorText::Part part_of(const Value* v, std::string_view name) {
    const auto text = base::as_text(v, name, diags_);
    return text ? api::OperatorText::Part{*text, file_.text_at(*v)} : api::OperatorText::Part{};
  }

  void read_operator(base::Fields& f, const Value& item, const Value* op, const Value* dtype, double weight) {
    const auto id = base::as_text(f.take("id"), "id", diags_);
    const api::OperatorText text{part_of(op, "op"), part_of(f.take("size"), "size"), part_of(f.take("shape"), "shape"),
                                 part_of(dtype, "dtype")};
    f.finish();
    if (text.op.text.empty()) return;
    if (auto e = api::expression_of(text, false, diags_)) {
      std::string kind = api::kind_of_whole(*e);
      const std::size_t number = tensors_.count();
      if (sequence_) tensors_.add(id.value_or("op"), *e, {}, diags_);
      add({id.value_or(""), std::move(kind), weight, std::move(*e), {}, item.at, number}, item.at,
          id ? Given::kById : Given::kUnnamed);
    }
  }

  enum class Given { kBySuite, kByNetwork, kById, kUnnamed };

  // What is there already counts more, under any name where it is given none. What only bears the name of another gets
  // the sizes of its suite behind it, or its element type; in a sequence an operator of a network gets one of these, or
  // a number, in any case.
  void add(SweepWorkload w, base::Position at, Given given, const std::string& variables = {}) {
    w.document = document_of(w.expression);
    const auto named = [&](const std::string& name) {
      return std::find_if(out_.begin(), out_.end(), [&](const SweepWorkload& o) { return o.name == name; });
    };
    const auto is_same = [&](const SweepWorkload& o) { return base::to_json(o.document) == base::to_json(w.document); };
    if (given == Given::kUnnamed) {
      const auto same = sequence_ ? out_.end() : std::find_if(out_.begin(), out_.end(), is_same);
      w.name = same != out_.end() ? same->name : fmt::format("op{}", ++unnamed_);
    }
    auto there = named(w.name);
    const bool of_network = given == Given::kByNetwork;
    const auto is_taken = [&] { return there != out_.end() && ((sequence_ && of_network) || !is_same(*there)); };
    for (const std::string& more : {variables, expr::dtypes_text(w.expression)}) {
      if (!is_taken() || (given != Given::kBySuite && !of_network)) break;
      if (more.empty()) continue;
      w.name += " " + more;
      there = named(w.name);
    }
    const std::string unnumbered = w.name;
    for (int n = 2; of_network && is_taken(); ++n) there = named(w.name = fmt::format("{} {}", unnumbered, n));
    if (there == out_.end()) {
      out_.push_back(std::move(w));
    } else if (is_same(*there) && sequence_) {
      diags_.error(
          at, fmt::format("'{}' is listed a second time; in a sequence each operator needs an id of its own", w.name));
    } else if (is_same(*there)) {
      there->weight += w.weight;
    } else {
      diags_.error(at, fmt::format("another operator bears the name '{}'; give it another id", w.name));
    }
  }

  bool sequence_;
  const std::vector<SweepBase>& bases_;
  const SweepFile& file_;
  Diagnostics& diags_;
  std::map<std::string, int> listed_;  // how often each network is
  int unnamed_ = 0;
  std::vector<SweepWorkload> out_;
  expr::TensorsOfSequence tensors_;
};

}  // namespace

Value document_of(const expr::Expression& e) {
  base::List stages;
  for (const expr::Stage& s : e.stages) {
    base::Map sizes;
    for (const expr::Axis& a : s.axes) sizes.push_back({a.name, a.size});
    stages.emplace_back(base::Map{{"expr", s.text}, {"sizes", std::move(sizes)}});
  }
  base::Map tensors;
  for (const expr::Tensor& t : e.tensors) {
    base::List shape;
    for (const std::int64_t d : t.shape) shape.emplace_back(d);
    tensors.push_back({t.name, std::move(shape)});
  }
  return base::Map{{"stages", std::move(stages)},
                   {"tensors", std::move(tensors)},
                   {"dtype", expr::dtypes_text(e)},
                   {"accumulate", base::name_of(e.accumulate)}};
}

SweepWorkloads read_workloads(const Value& workloads, bool sequence, const std::vector<SweepBase>& bases,
                              const SweepFile& file) {
  SweepWorkloads out = WorkloadsReader(sequence, bases, file).read(workloads);
  std::map<std::string, std::size_t> known;
  for (std::size_t w = 0; w < out.all.size(); ++w)
    out.all[w].searched_as = known.try_emplace(base::to_json(out.all[w].document), w).first->second;
  for (std::size_t w = 0; sequence && w < out.all.size(); ++w)
    out.all[w].document.get_if<base::Map>()->push_back({std::string(kPlaceInSequence), static_cast<std::int64_t>(w)});
  return out;
}

}  // namespace tilescope::experiments
