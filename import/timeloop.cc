// SPDX-License-Identifier: Apache-2.0
// A problem of Timeloop, versions 0.2 to 0.4: one product of tensors whose coordinates are sums of dimensions. Source
// of what a key means: its problem-shape documents. Shapes that old files only name are built in (its problem-shapes).
//
// Ignores: densities, for operators here are dense.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/fields.h"
#include "base/parse_number.h"
#include "import/formats.h"
#include "import/suite_file.h"

namespace tilescope::importers {
namespace {

using base::Diagnostics;
using base::Value;

// What old files name: dimensions, and tensors with their coordinates as sums of products; the last is the result.
struct ShapeRow {
  std::string_view name, dimensions, tensors;
};

constexpr std::string_view kConvolution =
    "Weights[K][C][R][S] Inputs[N][C][R*Wdilation+P*Wstride][S*Hdilation+Q*Hstride] Outputs[N][K][Q][P]";
constexpr ShapeRow kShapes[] = {
    {"cnn-layer", "R S P Q C K N", kConvolution},
    {"cnn_layer", "R S P Q C K N", kConvolution},
    {"gemm-ABZ", "M N K", "A[M][K] B[N][K] Z[M][N]"},
    {"gemm_ABZ", "M N K", "A[M][K] B[N][K] Z[M][N]"},
};

// The form of a problem that states none.
constexpr const ShapeRow& kAssumed = kShapes[0];

// Extents of the input that other keys give.
constexpr std::string_view kFollow = "H W Hpad Wpad";

// What a file may have beside its problem.
constexpr std::string_view kOtherParts =
    "arch architecture architecture_constraints mapspace mapspace_constraints constraints mapper mapping model "
    "sparse_optimizations variables components compound_components globals layout ERT ART ERT_summary ART_summary "
    "action_counts";

constexpr std::int64_t kMaxSize = 1'000'000'000'000;

const Value* either(const Value& map, std::string_view a, std::string_view b) {
  const Value* v = map.find(a);
  return v != nullptr ? v : map.find(b);
}

class Problem {
 public:
  Problem(const Value& problem, std::string path, Ledger& ledger, Diagnostics& diags)
      : problem_(problem), path_(std::move(path)), ledger_(ledger), diags_(diags) {}

  std::optional<SuiteOperator> read(const std::string& id) {
    op_.id = id;
    op_.at = problem_.at;
    const Value* instance = problem_.find("instance");
    instance_ = instance != nullptr ? instance : &problem_;
    instance_path_ = instance != nullptr ? path_ + "instance" : path_.substr(0, path_.empty() ? 0 : path_.size() - 1);
    if (instance_->get_if<base::Map>() == nullptr)
      return fail(instance_->at, "instance: expected a map of sizes, got " + instance_->describe());
    const std::size_t errors = diags_.count();
    const Value* shape = problem_.find("shape");
    if (shape == nullptr && !has_sizes_of(kAssumed)) return fail(problem_.at, "the problem lacks the key 'shape'");
    if (shape == nullptr) {
      diags_.note(problem_.at, fmt::format("no shape: {}, as Timeloop assumes", kAssumed.name));
      read_named(std::string(kAssumed.name), problem_.at);
    } else if (const auto* name = shape->get_if<std::string>()) {
      read_named(*name, shape->at);
    } else {
      read_shape(*shape);
    }
    if (diags_.count() > errors) return std::nullopt;
    if (std::none_of(dimensions_.begin(), dimensions_.end(),
                     [&](const std::string& d) { return instance_->find(d) != nullptr; }))
      return fail(instance_->at, "a shape without an instance: no dimension has a size");
    read_sizes();
    say_version();
    if (diags_.count() > errors) return std::nullopt;
    return op_;
  }

 private:
  std::nullopt_t fail(base::Position at, std::string text) {
    diags_.error(at, std::move(text));
    return std::nullopt;
  }

  bool has_sizes_of(const ShapeRow& row) const {
    const auto dimensions = words_of(row.dimensions);
    return std::all_of(dimensions.begin(), dimensions.end(),
                       [&](std::string_view d) { return instance_->find(d) != nullptr; });
  }

  void read_named(const std::string& name, base::Position at) {
    std::vector<std::string_view> names;
    for (const ShapeRow& row : kShapes) {
      names.push_back(row.name);
      if (row.name != name) continue;
      ledger_.take(path_ + "shape", "op");
      for (const std::string_view d : words_of(row.dimensions)) dimensions_.emplace_back(d);
      const auto tensors = words_of(row.tensors);
      for (const std::string_view t : tensors) {
        Tensor tensor = tensor_of(t.substr(0, t.find('[')), t.substr(t.find('[')), at);
        if (t == tensors.back())
          op_.result = std::move(tensor);
        else
          op_.operands.push_back(std::move(tensor));
      }
      return;
    }
    fail(at, fmt::format("shape: no form of that name is known, '{}'{}; state its dimensions and data_spaces", name,
                         base::did_you_mean(name, names)));
  }

  void read_shape(const Value& shape) {
    if (!shape.is_map()) return void(fail(shape.at, "shape: expected a map or a name, got " + shape.describe()));
    ledger_.leave(path_ + "shape.name", "a name; the layer has its file's");
    read_dimensions(shape);
    read_coefficients(shape);
    const Value* spaces = either(shape, "data_spaces", "data-spaces");
    const auto* list = spaces == nullptr ? nullptr : spaces->get_if<base::List>();
    if (list == nullptr || list->empty())
      return void(fail(spaces == nullptr ? shape.at : spaces->at, "shape: expected a list data_spaces"));
    for (const Value& space : *list) read_space(space);
    for (const char* spelled : {"shape.data_spaces", "shape.data-spaces"})
      for (std::size_t i = 0; i < list->size(); ++i)
        for (const char* key : {"name", "projection", "read_write", "read-write"})
          ledger_.take(fmt::format("{}{}[{}].{}", path_, spelled, i, key), "op");
    if (op_.result.name.empty()) fail(spaces->at, "data_spaces: none of them is read_write, so none is the result");
    if (op_.operands.empty()) fail(spaces->at, "data_spaces: none of them is only read");
  }

  void read_dimensions(const Value& shape) {
    const Value* dimensions = shape.find("dimensions");
    const auto* list = dimensions == nullptr ? nullptr : dimensions->get_if<base::List>();
    if (list == nullptr || list->empty()) return void(fail(shape.at, "shape: expected a list dimensions"));
    for (const Value& d : *list) {
      const auto* name = d.get_if<std::string>();
      if (name == nullptr)
        fail(d.at, "dimensions: expected a name, got " + d.describe());
      else if (std::find(dimensions_.begin(), dimensions_.end(), *name) != dimensions_.end())
        fail(d.at, fmt::format("dimensions: '{}' is there twice", *name));
      else
        dimensions_.push_back(*name);
    }
    ledger_.take(path_ + "shape.dimensions", "axes of op");
  }

  void read_coefficients(const Value& shape) {
    const Value* coefficients = shape.find("coefficients");
    if (coefficients == nullptr || coefficients->is_null()) return;
    const auto* list = as_list(coefficients, "coefficients", diags_);
    if (list == nullptr) return;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const Value& c = (*list)[i];
      const auto name = c.is_map() ? base::as_text(c.find("name"), "coefficients.name", diags_) : std::nullopt;
      if (!name) {
        fail(c.at, "coefficients: expected a map with name and default");
        continue;
      }
      if (const Value* d = c.find("default"))
        if (const auto n = base::as_integer(d, "default", {-kMaxSize, kMaxSize}, diags_)) coefficients_[*name] = *n;
      coefficients_.try_emplace(*name, 1);
      for (const char* key : {"name", "default"})
        ledger_.take(fmt::format("{}shape.coefficients[{}].{}", path_, i, key), "a factor of op");
    }
  }

  void read_space(const Value& space) {
    const auto name = space.is_map() ? base::as_text(space.find("name"), "data_spaces.name", diags_) : std::nullopt;
    const Value* projection = space.is_map() ? space.find("projection") : nullptr;
    if (!name || projection == nullptr)
      return void(fail(space.at, "data_spaces: expected a map with name and projection"));
    const Value* written = either(space, "read_write", "read-write");
    const auto writes = written == nullptr ? std::optional(false) : base::as_bool(written, "read_write", diags_);
    Tensor tensor = projection->get_if<std::string>() != nullptr
                        ? tensor_of(*name, *projection->get_if<std::string>(), projection->at)
                        : tensor_of(*name, *projection);
    if (!writes) return;
    if (!*writes) return void(op_.operands.push_back(std::move(tensor)));
    if (!op_.result.name.empty())
      return void(fail(space.at, "data_spaces: two of them are read_write; a product has one result"));
    op_.result = std::move(tensor);
  }

  // A list of coordinates, each a list of terms, each a dimension and perhaps a coefficient. In the short form each
  // coordinate is one dimension's name.
  Tensor tensor_of(const std::string& name, const Value& projection) {
    Tensor out{name, {}, {}};
    const auto* list = as_list(&projection, "projection", diags_);
    if (list == nullptr) return out;
    for (const Value& c : *list) {
      Coordinate coordinate;
      if (const auto* dimension = c.get_if<std::string>()) {
        add_term(coordinate, {*dimension}, c.at);
      } else if (const auto* terms = as_list(&c, "projection", diags_)) {
        for (const Value& t : *terms) {
          const auto* factors = as_list(&t, "projection", diags_);
          std::vector<std::string> names;
          if (factors != nullptr)
            for (const Value& f : *factors)
              if (const auto text = base::as_text(&f, "projection", diags_)) names.push_back(*text);
          add_term(coordinate, names, t.at);
        }
      }
      out.coordinates.push_back(std::move(coordinate));
    }
    return out;
  }

  // "[N][C][R*Wdilation + P*Wstride]".
  Tensor tensor_of(std::string_view name, std::string_view text, base::Position at) {
    Tensor out{std::string(name), {}, {}};
    std::string plain;
    for (const char c : text)
      if (c != ' ') plain += c;
    for (std::size_t begin = 0; begin < plain.size();) {
      const std::size_t end = plain.find(']', begin);
      if (plain[begin] != '[' || end == std::string::npos) {
        fail(at, fmt::format("projection: expected coordinates in brackets such as [N][C], got '{}'", text));
        return out;
      }
      Coordinate coordinate;
      for (std::size_t t = begin + 1; t < end;) {
        const std::size_t plus = std::min(plain.find('+', t), end);
        std::vector<std::string> names;
        for (std::size_t f = t; f <= plus;) {
          const std::size_t star = std::min(plain.find('*', f), plus);
          names.push_back(plain.substr(f, star - f));
          f = star + 1;
        }
        add_term(coordinate, names, at);
        t = plus + 1;
      }
      out.coordinates.push_back(std::move(coordinate));
      begin = end + 1;
    }
    return out;
  }

  void add_term(Coordinate& to, const std::vector<std::string>& factors, base::Position at) {
    Term term;
    for (const std::string& f : factors) {
      const bool is_dimension = std::find(dimensions_.begin(), dimensions_.end(), f) != dimensions_.end();
      const auto number = base::parse_integer<std::int64_t>(f);
      const auto coefficient = is_dimension || number ? std::nullopt : value_of_coefficient(f, at);
      if (is_dimension && term.axis.empty())
        term.axis = f;
      else if (number && std::abs(*number) <= kMaxSize / 1000)
        term.factor *= *number;
      else if (coefficient)
        term.factor *= *coefficient;
      else if (is_dimension)
        fail(at, fmt::format("projection: {} * {} is no sum of dimensions", term.axis, f));
      else
        fail(at, fmt::format("projection: '{}' is neither a dimension nor a coefficient", f));
      if (std::abs(term.factor) > kMaxSize) term.factor = kMaxSize;
    }
    if (term.axis.empty())
      to.constant += factors.empty() ? 0 : term.factor;
    else
      to.terms.push_back(std::move(term));
  }

  // Of the instance, else its default.
  std::optional<std::int64_t> value_of_coefficient(const std::string& name, base::Position at) {
    const bool built_in = name == "Wstride" || name == "Hstride" || name == "Wdilation" || name == "Hdilation";
    const auto known = coefficients_.find(name);
    if (known == coefficients_.end() && !built_in) return std::nullopt;
    used_.insert(name);
    const Value* given = instance_->find(name);
    if (given == nullptr) return known == coefficients_.end() ? 1 : known->second;
    ledger_.take(in_instance(name), "a factor of op");
    const auto n = base::as_integer(given, name, {1, kMaxSize / 1000}, diags_);
    if (!n) diags_.note(at, fmt::format("{} is used here", name));
    return n.value_or(1);
  }

  std::string in_instance(std::string_view name) const {
    return instance_path_.empty() ? std::string(name) : fmt::format("{}.{}", instance_path_, name);
  }

  void read_sizes() {
    for (const std::string& d : dimensions_) {
      const Value* size = instance_->find(d);
      if (size == nullptr) {
        fail(instance_->at, fmt::format("instance: no size of the dimension {}", d));
        continue;
      }
      ledger_.take(in_instance(d), "sizes");
      if (const auto n = base::as_integer(size, d, {1, kMaxSize}, diags_)) op_.loops.push_back({d, *n});
    }
    for (const auto& [name, value] : coefficients_)
      if (!used_.contains(name)) ledger_.leave(in_instance(name), "a coefficient that no projection has");
    for (const std::string_view name : words_of(kFollow))
      ledger_.leave(in_instance(name), "follows from sizes, strides and dilation; reads beyond an edge are zero");
    ledger_.leave(in_instance("densities"), "sparse tensors are not described; the operator is dense here");
    ledger_.leave(in_instance("compute_density"), "sparse tensors are not described; the operator is dense here");
  }

  void say_version() { ledger_.leave(path_ + "version", "the version of the format"); }

  const Value& problem_;
  std::string path_;  // of its keys: "problem."
  Ledger& ledger_;
  Diagnostics& diags_;
  const Value* instance_ = nullptr;
  std::string instance_path_;
  std::vector<std::string> dimensions_;
  std::map<std::string, std::int64_t> coefficients_;
  std::set<std::string> used_;
  SuiteOperator op_;
};

}  // namespace

std::optional<Imported> import_timeloop(const Source& source, Diagnostics& diags) {
  const auto document = base::read_yaml(source.text, source.id, diags);
  if (!document) return std::nullopt;
  Ledger ledger(keys_of(*document));
  if (!check_number(ledger.keys(), source.id, diags)) return std::nullopt;
  const Value* problem = document->is_map() ? document->find("problem") : nullptr;
  if (const Value& holder = problem != nullptr ? *problem : *document; !holder.is_map()) {
    diags.error(holder.at, "problem: expected a map, got " + holder.describe());
    return std::nullopt;
  }
  SuiteFile file;
  file.head = {fmt::format("The problem {} of Timeloop, from tilescope import.", source.file)};
  file.dtype = "f16";
  file.dtype_comment = "[E] the problem has none";
  Problem reader(problem == nullptr ? *document : *problem, problem == nullptr ? "" : "problem.", ledger, diags);
  auto op = reader.read(source.name);
  if (!op) return std::nullopt;
  file.operators.push_back(std::move(*op));
  for (const std::string_view other : words_of(kOtherParts))
    ledger.leave(other, "no part of the problem; a chip and a search here have their own files");
  Imported out;
  out.kind = "suite";
  out.text = text_of(file);
  out.report = ledger.report({"dimensions", "coefficients", "data_spaces", "projection", "read_write", "instance",
                              "shape", "name", "default", "Wstride", "Hstride", "Wdilation", "Hdilation", "version"});
  if (!check(out.text, file, source.id, diags)) return std::nullopt;
  return out;
}

}  // namespace tilescope::importers
