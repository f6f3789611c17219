// SPDX-License-Identifier: Apache-2.0
#include "api/network/emit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/emit.h"
#include "api/network/detail/host_text.h"
#include "api/network/detail/loaded.h"
#include "api/network/detail/schedule.h"
#include "api/tensor_map_text.h"
#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "base/check.h"
#include "base/document.h"
#include "base/dtype.h"
#include "base/integer.h"
#include "expr/element_bytes.h"
#include "expr/tables.h"

namespace tilescope::api {
namespace {

using base::List;
using base::Value;

std::int64_t aligned(std::int64_t bytes) { return base::round_up(bytes, arch::kAllocationAlignment.n); }

const std::string& text_at(const Value& v, std::string_view key) { return *v.find(key)->get_if<std::string>(); }
std::int64_t number_at(const Value& v, std::string_view key) { return *v.find(key)->get_if<std::int64_t>(); }
const List& list_at(const Value& v, std::string_view key) { return *v.find(key)->get_if<List>(); }

// A C++ string literal.
std::string literal(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c < ' ' ? ' ' : c);
  return out + '"';
}

// Indices of arrays that are tables, by their distribution. A table that a group computes of integers it reads, as of
// indices that may count from the end, bounds these: they are drawn below its least extent.
struct Indices {
  std::map<std::string, std::vector<double>> drawn;
  std::map<std::string, std::int64_t> bounds;
};
Indices indices_of(const std::vector<NodeGroup>& groups) {
  Indices out;
  for (const NodeGroup& g : groups) {
    const expr::Expression& e = g.subgraph.expression;
    std::optional<std::int64_t> least;
    for (const int table : expr::tables_of(e)) {
      const expr::Tensor& t = e.tensors[static_cast<std::size_t>(table)];
      const std::int64_t bound = expr::index_bound(e, table);
      if (t.producer != expr::kInput) {
        least = std::min(least.value_or(bound), bound);
      } else if (const auto array = g.subgraph.arrays.find(t.name); array != g.subgraph.arrays.end()) {
        const std::vector<std::int32_t> indices = expr::drawn_indices(e, table);
        out.drawn.try_emplace(array->second, indices.begin(), indices.end());
      }
    }
    for (const expr::Tensor& t : e.tensors) {
      const auto array = g.subgraph.arrays.find(t.name);
      if (!least || t.producer != expr::kInput || array == g.subgraph.arrays.end() || !base::is_integer(t.dtype))
        continue;
      const auto [bound, is_new] = out.bounds.emplace(array->second, *least);
      bound->second = std::min(bound->second, *least);
    }
  }
  return out;
}

class Writer {
 public:
  Writer(const LoadedNetwork& read, const Schedule& schedule, const arch::ArchSpec& chip, std::string dialect)
      : read_(read),
        schedule_(schedule),
        chip_(chip),
        dialect_(std::move(dialect)),
        indices_(indices_of(schedule.groups())) {}

  std::optional<EmittedNetwork> write(const std::string& name, base::Diagnostics& diags) {
    if (!emit_programs(diags)) return std::nullopt;
    const std::vector<NetworkGroupRow> rows = schedule_.rows();
    for (const NetworkGroupRow& r : rows) add_group(r);
    place();
    out_.programs = programs_.size();
    out_.launches = launches_.size();
    out_.kernels = kernels_.size();
    out_.files.push_back({"network.cc", text_of(name)});
    out_.files.push_back({"Makefile", makefile()});
    return std::move(out_);
  }

 private:
  struct Tensor {
    std::string name, dtype;
    std::int64_t elements = 0, bytes = 0, offset = 0;
    char role = 't';
    bool own = false;  // of one group: what its kernels leave each other
    std::int64_t offset_in_group = 0;
  };

  bool hip() const { return dialect_ == "hip"; }

  bool emit_programs(base::Diagnostics& diags) {
    for (const ProgramToWrite& p : schedule_.programs()) {
      base::Diagnostics own;
      auto emitted = emit_program({p.id, base::to_json(p.document)}, dialect_, chip_, own);
      if (!emitted)
        for (const std::string& why : own.sentences())
          diags.error(read_.network.at, fmt::format("program '{}': {}", p.id, why));
      if (!emitted) return false;
      out_.files.push_back({p.id + (hip() ? ".hip" : dialect_ == "cpu" ? ".cc" : ".cu"), emitted->text});
      programs_.emplace(p.id, std::move(emitted->document));
      modules_.push_back(p.id);
    }
    return true;
  }

  int tensor(const std::string& key, const std::string& name, const Value& array) {
    const auto [at, is_new] = tensor_of_.try_emplace(key, static_cast<int>(tensors_.size()));
    if (!is_new) return at->second;
    Tensor& t = tensors_.emplace_back();
    t.name = name;
    t.dtype = text_at(array, "dtype");
    t.elements = number_at(array, "elements");
    t.bytes = t.elements * base::size_of(*base::dtype_of(t.dtype)).n;
    return at->second;
  }

  // The tensors of one group and its launches.
  void add_group(const NetworkGroupRow& r) {
    const Value& program = programs_.at(r.program);
    const auto group = static_cast<int>(groups_.size());
    groups_.push_back(fmt::format(
        "{{{}, {:.3f}}}", literal(r.nodes.size() == 1 ? r.nodes.front() : r.nodes.front() + " .. " + r.nodes.back()),
        r.us.value_or(0)));
    std::map<std::string, int> numbers;
    std::int64_t own_bytes = 0;
    for (const Value& array : list_at(program, "arrays")) {
      const std::string& name = text_at(array, "name");
      const auto known =
          std::find_if(r.arrays.begin(), r.arrays.end(), [&](const base::Entry& e) { return e.key == name; });
      const bool own = known == r.arrays.end();
      const std::string key = own ? fmt::format(" {}.{}", group, name) : *known->value.get_if<std::string>();
      const int n = tensor(key, own ? name : key, array);
      numbers[name] = n;
      if (!own) continue;
      Tensor& t = tensors_[static_cast<std::size_t>(n)];
      t.own = true;
      t.offset_in_group = own_bytes;
      own_bytes += aligned(t.bytes);
    }
    most_own_bytes_ = std::max(most_own_bytes_, own_bytes);
    const auto module = std::find(modules_.begin(), modules_.end(), r.program) - modules_.begin();
    for (const Value& k : list_at(program, "kernels")) {
      base::check(list_at(k, "scalars").empty(), "the stages of a network have no scalars");
      const std::string kernel =
          fmt::format("{{{}, {}, {}, {}, {}}}", module, literal(text_at(k, "name")), number_at(k, "blocks"),
                      number_at(k, "threads"), number_at(k, "shared_bytes"));
      const auto number = kernel_of_.try_emplace(kernel, kernels_.size());
      if (number.second) kernels_.push_back(kernel);
      const std::size_t first = arguments_.size();
      for (const Value& a : list_at(k, "arrays")) arguments_.push_back(numbers.at(*a.get_if<std::string>()));
      for (const Value& m : list_at(k, "maps")) {
        arguments_.push_back(-1 - static_cast<int>(maps_.size()));
        maps_.push_back(map_of(m, numbers.at(text_at(m, "array"))));
      }
      launches_.push_back(
          fmt::format("{{{}, {}, {}, {}}}", number.first->second, group, first, arguments_.size() - first));
    }
  }

  std::string map_of(const Value& m, int number) const {
    const base::Dtype dtype = *base::dtype_of(tensors_[static_cast<std::size_t>(number)].dtype);
    const auto reversed = [&](const char* key) { return fmt::format("{}", fmt::join(innermost_first(m, key), ", ")); };
    return fmt::format("{{{}, {}, {}, {}, {{{}}}, {{{}}}, {{{}}}, {}}}", number, driver_element(dtype).number,
                       base::size_of(dtype).n, list_at(m, "extents").size(), reversed("extents"), reversed("strides"),
                       reversed("box"), driver_swizzle(number_at(m, "swizzled_row_bytes")).number);
  }

  // Constants, then inputs, then the arena of what groups write, then what a group's kernels leave each other, which
  // the next group may overwrite.
  void place() {
    std::int64_t end = 0;
    for (const bool constants : {true, false})
      for (auto& [key, number] : tensor_of_) {
        Tensor& t = tensors_[static_cast<std::size_t>(number)];
        const auto role = t.own ? graph::TensorRole::kBetween : read_.network.tensors.at(key).role;
        if (role != (constants ? graph::TensorRole::kConstant : graph::TensorRole::kInput)) continue;
        t.role = constants ? 'c' : 'i';
        t.offset = end;
        end += aligned(t.bytes);
        add_values(key, number, t);
      }
    const std::vector<LivingTensor> written = schedule_.written();
    const Arena arena = arena_of(written, arch::kAllocationAlignment.n);
    const graph::Uses uses(read_.network);
    for (std::size_t i = 0; i < written.size(); ++i) {
      Tensor& t = tensors_[static_cast<std::size_t>(tensor_of_.at(written[i].name))];
      t.offset = end + arena.offsets[i];
      if (uses.is_result(written[i].name)) t.role = 'o';
    }
    end += aligned(arena.bytes);
    for (Tensor& t : tensors_)
      if (t.own) t.offset = end + t.offset_in_group;
    out_.bytes = static_cast<double>(end + most_own_bytes_);
  }

  void add_values(const std::string& key, int number, const Tensor& t) {
    const auto& known = read_.network.tensors.at(key).values;
    const auto drawn = indices_.drawn.find(key);
    const std::vector<double>* values = known ? &*known : drawn != indices_.drawn.end() ? &drawn->second : nullptr;
    if (values == nullptr) return;
    out_.files.push_back({fmt::format("tensors/{}.bin", number), expr::to_bytes(*base::dtype_of(t.dtype), *values)});
  }

  // Of drawn values: weights such that a product with them has about the size of what it multiplies; vectors stay
  // positive, for some are variances.
  std::string tensor_text(const std::string& key, const Tensor& t) const {
    double centre = 0, spread = 1;
    if (t.role == 'c') {
      const graph::Shape& shape = read_.network.tensors.at(key).shape;
      if (shape.size() < 2)
        centre = 1, spread = 0.5;
      else
        spread = std::sqrt(3 * static_cast<double>(*std::max_element(shape.begin(), shape.end())) /
                           static_cast<double>(t.elements));
    }
    const auto limit = indices_.bounds.find(key);
    return fmt::format("{{{}, {}, {}, {}, '{}', {}, {:.9g}, {}}}", literal(t.name), literal(t.dtype), t.elements,
                       t.offset, t.role, centre, spread, limit == indices_.bounds.end() ? 2 : limit->second);
  }

  std::string text_of(const std::string& name) const {
    std::vector<std::string> tensors(tensors_.size()), modules;
    for (const auto& [key, number] : tensor_of_)
      tensors[static_cast<std::size_t>(number)] = tensor_text(key, tensors_[static_cast<std::size_t>(number)]);
    for (const std::string& m : modules_) modules.push_back(fmt::format("{{{}}}", literal(m)));
    const auto table = [](const char* type, const char* title, const std::vector<std::string>& rows) {
      return fmt::format("constexpr {} {}[] = {{\n    {}}};\n\n", type, title,
                         rows.empty() ? "{}" : fmt::format("{}", fmt::join(rows, ",\n    ")));
    };
    std::string tables = fmt::format(
        "constexpr const char* kNetwork = {};\nconstexpr bool kHip = {};\nconstexpr const char* kEnding = \"{}\";\n"
        "constexpr std::int64_t kBytes = {};\n\n",
        literal(name), hip(), hip() ? ".hsaco" : ".cubin", static_cast<std::int64_t>(out_.bytes));
    tables += table("Tensor", "kTensors", tensors) + table("Module", "kModules", modules) +
              table("Kernel", "kKernels", kernels_) + table("TensorMap", "kMaps", maps_) +
              table("Group", "kGroups", groups_) + table("Launch", "kLaunches", launches_);
    tables += fmt::format("// Tensors, and maps as -1 less their number.\nconstexpr int kArguments[] = {{\n");
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      tables += fmt::format("{}{},{}", i % 20 == 0 ? "    " : " ", arguments_[i],
                            i % 20 == 19 || i + 1 == arguments_.size() ? "\n" : "");
    tables += "};\n";
    const std::string_view host = host_text(), line = kTablesLine;
    const std::size_t at = host.find(line);
    return fmt::format("// {} on {}: launches the kernels of the files beside it; see Makefile.\n{}{}{}", name,
                       chip_.name, host.substr(0, at), tables, host.substr(at + line.size()));
  }

  std::string makefile() const {
    const std::string target = chip_.target.value_or(hip() ? "gfx90a" : "sm_80");
    return fmt::format(
        "ARCH ?= {}\n\nall: network $(patsubst %.{},%.{},$(wildcard *.{}))\n\n%.{}: %.{}\n\t{} -o $@ $<\n\n"
        "network: network.cc\n\t$(CXX) -O2 -std=c++20 -o $@ $< -ldl\n",
        target, hip() ? "hip" : "cu", hip() ? "hsaco" : "cubin", hip() ? "hip" : "cu", hip() ? "hsaco" : "cubin",
        hip() ? "hip" : "cu",
        hip() ? "hipcc -std=c++17 --genco --offload-arch=$(ARCH)" : "nvcc -std=c++17 -cubin -arch=$(ARCH)");
  }

  const LoadedNetwork& read_;
  const Schedule& schedule_;
  const arch::ArchSpec& chip_;
  std::string dialect_;
  const Indices indices_;
  EmittedNetwork out_;
  std::map<std::string, Value> programs_;  // what launches them, by id
  std::vector<std::string> modules_;
  std::vector<Tensor> tensors_;
  std::map<std::string, int> tensor_of_;  // by the network's name; one of a group's own begins with a blank
  std::vector<std::string> kernels_, maps_, groups_, launches_;  // rows of tables
  std::map<std::string, std::size_t> kernel_of_;
  std::vector<int> arguments_;
  std::int64_t most_own_bytes_ = 0;
};

}  // namespace

std::optional<EmittedNetwork> emit_network(const NetworkSource& source, const arch::ArchSpec& chip,
                                           const EmitNetworkHow& how, base::Diagnostics& diags) {
  const auto read = load_network(to_be_timed(source), diags);
  if (!read) return std::nullopt;
  for (const graph::OpaqueNode& n : read->network.opaque)
    diags.error(n.at, fmt::format("node '{}' ({}): {}", n.name, n.kind, n.why));
  if (!diags.ok()) return std::nullopt;
  BestPrograms best(chip, how.fuse, how.log);
  const LoadedNetwork loaded = with_joined_products(*read, how.fuse, best, how.jobs, how.constructing);
  const graph::Network& network = loaded.network;
  const graph::Uses uses(network);
  const Schedule schedule(network, uses, chip, grouping_of(network, uses, how.fuse, best, how.jobs, how.constructing));
  for (const NetworkGroupRow& r : schedule.rows())
    if (!r.error.empty()) diags.error(network.at, fmt::format("node '{}': {}", r.nodes.front(), r.error));
  if (!diags.ok() || !fits(schedule.memory(), chip, diags, network.at)) return std::nullopt;
  return Writer(loaded, schedule, chip, how.dialect).write(source.name, diags);
}

}  // namespace tilescope::api
