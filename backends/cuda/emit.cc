// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/emit.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cuda/detail/arguments.h"
#include "backends/cuda/detail/arithmetic.h"
#include "backends/cuda/detail/boxes.h"
#include "backends/cuda/detail/matrices.h"
#include "backends/cuda/detail/page.h"
#include "backends/cuda/detail/prelude.h"
#include "backends/cuda/detail/products.h"
#include "backends/cuda/detail/scopes.h"
#include "base/check.h"
#include "lower/counters.h"
#include "lower/known_guards.h"
#include "lower/statement_parts.h"

namespace tilescope::cuda {
namespace {

using lower::Space;

std::vector<int> written_globals(const lower::Kernel& k) {
  std::vector<int> out;
  for (const lower::Copy* c : lower::copies_of(k)) {
    const lower::Buffer& b = k.buffers[static_cast<std::size_t>(c->to.buffer)];
    if (b.space == Space::kGlobal) out.push_back(b.global);
  }
  return out;
}

std::string counted(std::int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// The items, each with what follows it.
std::vector<std::string> ended(std::vector<std::string> items, std::string_view between, std::string_view last) {
  for (std::size_t i = 0; i < items.size(); ++i) items[i] += i + 1 < items.size() ? between : last;
  return items;
}

// "compute_C<<<64, 256, 8192>>>(A, B, C)"
std::string launch(const lower::Module& m, const lower::Kernel& k, const std::string& name) {
  std::vector<std::string> arguments;
  for (const int g : used_globals(k)) arguments.push_back(m.globals[static_cast<std::size_t>(g)].name);
  for (const TensorMap& map : maps_of(k))
    arguments.push_back("boxes of " + m.globals[static_cast<std::size_t>(map.global)].name);
  for (const int s : used_scalars(k)) arguments.push_back(m.scalars[static_cast<std::size_t>(s)]);
  const std::string shared = k.shared_bytes > 0 ? fmt::format(", {}", k.shared_bytes) : "";
  return fmt::format("{}<<<{}, {}{}>>>({})", name, k.blocks, k.threads, shared, fmt::join(arguments, ", "));
}

class KernelEmitter {
 public:
  KernelEmitter(const lower::Module& module, const lower::Kernel& kernel, std::string name, Dialect dialect,
                const MatrixDefinitions& matrices, Page& page)
      : kernel_(kernel),
        dialect_(dialect),
        matrices_(matrices),
        names_(names_of(module, kernel, matrices.names())),
        formulas_(kernel, names_),
        scopes_(kernel),
        page_(page),
        products_(kernel, names_, formulas_, matrices, page) {
    out_.name = std::move(name);
    out_.blocks = kernel.blocks;
    out_.cluster = kernel.cluster;
    out_.threads = kernel.threads;
    out_.shared_bytes = kernel.shared_bytes;
    out_.globals = used_globals(kernel);
    out_.maps = maps_of(kernel);
    out_.scalars = used_scalars(kernel);
    out_.wide_scalars = has_wide_scalars(kernel);
    out_.shared_granule = smallest_shared_element();
    out_.tensor_bytes = products_.tensor_bytes();
  }

  EmittedKernel run() {
    if (!page_.empty()) page_.add("");
    page_.note(counted(kernel_.blocks, "block") + " of " + counted(kernel_.threads, "thread") +
               (clusters() ? fmt::format(" in clusters of {}", kernel_.cluster) : ""));
    std::vector<std::string> list = ended(parameters(), ",", ") {");
    if (list.empty()) list = {") {"};  // a kernel that only computes
    page_.add_list(fmt::format("extern \"C\" __global__ void {} {}(", bounds(), out_.name), list);
    page_.indent();
    for (const int i : scopes_.at_top()) page_.add(formulas_.definition(i));
    arrays();
    page_.add("");
    products_.allocate();
    mbarriers();
    statements(kernel_.body);
    products_.free();
    if (clusters()) page_.add("cluster_end();");
    page_.close();
    return std::move(out_);
  }

  void operator()(const lower::Loop& loop) {
    const lower::Index& i = kernel_.indices[static_cast<std::size_t>(loop.index)];
    const std::string& name = names_.indices[static_cast<std::size_t>(loop.index)];
    const std::int64_t extent = i.range.high - i.range.low + 1;
    if (loop.unroll >= extent)
      page_.add("#pragma unroll");
    else if (loop.unroll > 0)
      page_.add(fmt::format("#pragma unroll {}", loop.unroll));
    const std::string end =
        loop.last ? "<= " + formulas_.least(*loop.last, i.range.high) : fmt::format("< {}", i.range.high + 1);
    const std::vector<int> defined = scopes_.at_loop(loop, open_loops_);
    const bool braces =
        !defined.empty() || loop.body.size() != 1 || !loop.body.front().note.empty() || is_left_out(loop.body.front());
    page_.open(fmt::format("for ({0} {1} = {2}; {1} {3}; ++{1}){4}", formulas_.type_of_index(loop.index), name,
                           loop.first ? formulas_.greatest(*loop.first, i.range.low) : std::to_string(i.range.low), end,
                           braces ? " {" : ""));
    for (const int d : defined) {
      if (d == lower::kThreadIndex)
        thread_of_tile();
      else
        page_.add(formulas_.definition(d));
    }
    open_loops_.push_back(loop.index);
    statements(loop.body);
    open_loops_.pop_back();
    if (braces)
      page_.close();
    else
      page_.outdent();
  }

  void operator()(const lower::If& branch) {
    if (never(branch.when)) {
      without_statements(branch.body);
      return;
    }
    const std::vector<std::string> conditions = formulas_.conditions(branch.when);
    if (conditions.empty())
      page_.add("{");
    else
      page_.add_list("if (", ended(conditions, " &&", ") {"));
    page_.indent();
    statements(branch.body);
    page_.close();
  }

  void operator()(const lower::LoadMatrix& load) {
    base::check(buffer(load.rows.from).space == Space::kShared && load.rows.inside.empty(),
                "matrices are loaded from the scratchpad");
    const std::vector<std::string> arguments = {fmt::format("&{},", formulas_.element(load.rows.to)),
                                                fmt::format("&{});", formulas_.element(load.rows.from))};
    const std::string call = fmt::format("ldmatrix<{}>(", matrices_.name_of(kernel_, load));
    out_.copy_lines.push_back(page_.add_list(call, arguments));
  }

  void operator()(const lower::OneOf<lower::Mma, lower::Wgmma, lower::WgmmaFence, lower::WgmmaCommitWait,
                                     lower::Tcgen05Load> auto& s) {
    products_(s);
  }
  void operator()(const lower::Tcgen05Mma& m) {
    base::check(role_ != nullptr, "one thread of a role issues products");
    products_(m, issuer());
  }
  void operator()(const lower::Tcgen05Commit& c) {
    const std::int64_t stages = mbarrier(c.mbarrier).stages;
    const std::string at = phase(c.mbarrier, c.phase);
    page_.add(c.cluster ? fmt::format("tcgen05_commit_cluster<{}, {}>({}, {});", stages, kernel_.cluster, issuer(), at)
                        : fmt::format("tcgen05_commit<{}>({}, {});", stages, issuer(), at));
  }
  void operator()(const lower::ProxyFence&) { page_.add("fence_proxy_async();"); }

  void operator()(const lower::Copy& copy) {
    if (never(copy.when)) {
      without_copy();
      return;
    }
    const auto when = ended(formulas_.conditions(copy.when), " &&", ",");
    const auto inside = ended(formulas_.conditions(copy.inside), " &&", ",");
    std::vector<std::string> arguments = when;
    arguments.insert(arguments.end(), inside.begin(), inside.end());
    arguments.push_back(fmt::format("&{},", formulas_.piece(copy.to)));
    arguments.push_back(fmt::format("&{});", formulas_.source(copy)));
    const std::string call = fmt::format("{}{}{}<{}>(", verb(copy), inside.empty() ? "" : "_or_zero",
                                         when.empty() ? "" : "_if", copy.elements);
    out_.copy_lines.push_back(page_.add_list(call, arguments));
  }

  void operator()(const lower::Compute& compute) {
    if (never(compute.when)) return;
    const std::string text = statement(kernel_, compute, formulas_, names_);
    if (compute.when.empty()) {
      page_.add(text);
      return;
    }
    page_.add_list("if (", ended(formulas_.conditions(compute.when), " &&", ")"));
    page_.indent();
    page_.add(text);
    page_.outdent();
  }

  void operator()(const lower::ReduceLanes& reduce) {
    const std::string_view by = reduce.reducer == expr::Reducer::kMax       ? "warp_max"
                                : reduce.reducer == expr::Reducer::kMin     ? "warp_min"
                                : reduce.reducer == expr::Reducer::kProduct ? "warp_product"
                                                                            : "warp_sum";
    page_.add(fmt::format("{}<{}>({});", by, reduce.lanes, formulas_.element(reduce.target)));
  }

  void operator()(const lower::WarpSpecialized& specialized) {
    std::int64_t end = 0;  // of the threads of the roles before
    for (const lower::WarpRole& r : specialized.roles) {
      const std::string head = fmt::format("{}{{  // {}", in_role(r, end), r.name);
      if (end == 0)
        page_.open(head);
      else
        page_.reopen("} else " + head);
      end = r.first_thread + r.threads;
      role_ = &r;
      statements(r.body);
    }
    role_ = nullptr;
    if (end > 0) page_.close();
  }

  void operator()(const lower::MbarrierArrive& a) {
    const std::int64_t stages = mbarrier(a.mbarrier).stages;
    const std::string at = phase(a.mbarrier, a.phase);
    if (a.cluster)
      page_.add(fmt::format("mbarrier_arrive_cluster<{}, {}>({});", stages, kernel_.cluster, at));
    else if (a.bytes > 0)
      page_.add(fmt::format("mbarrier_arrive_expect_tx<{}>({}, {});", stages, at, a.bytes));
    else
      page_.add(fmt::format("mbarrier_arrive<{}>({});", stages, at));
  }
  void operator()(const lower::MbarrierWait& a) {
    base::check(lower::range_of(kernel_, a.phase).low >= -mbarrier(a.mbarrier).stages,
                "no warp awaits a phase more than a ring before the first");
    page_.add(fmt::format("{}<{}>({});", clusters() ? "mbarrier_wait_cluster" : "mbarrier_wait",
                          mbarrier(a.mbarrier).stages, phase(a.mbarrier, a.phase)));
  }

  void operator()(const lower::TmaLoad& load) {
    base::check(role_ != nullptr, "TMA loads are a role's");
    const std::int64_t stages = mbarrier(load.mbarrier).stages;
    add_box(load.multicast ? fmt::format("tma_load_multicast_{}d<{}, {}>(", load.dims.size(), stages, kernel_.cluster)
                           : fmt::format("tma_load_{}d<{}>(", load.dims.size(), stages),
            load, phase(load.mbarrier, load.phase) + ");");
  }
  void operator()(const lower::TmaStore& store) {
    add_box(fmt::format("tma_store_{}d(", store.dims.size()), store, "");
  }

  void operator()(const lower::Barrier&) {
    base::check(role_ == nullptr, "no barrier is a role's");
    page_.add("__syncthreads();");
  }
  void operator()(const lower::ClusterBarrier&) { page_.add("cluster_sync();"); }
  void operator()(const lower::Commit&) { page_.add("cp_async_commit();"); }
  void operator()(const lower::Wait& wait) { page_.add(fmt::format("cp_async_wait<{}>();", wait.pending)); }

 private:
  bool clusters() const { return kernel_.cluster > 1; }

  static bool never(const std::vector<lower::Guard>& guards) {
    return std::any_of(guards.begin(), guards.end(), lower::never_holds);
  }
  // Whether nothing but a comment stands for the statement.
  static bool is_left_out(const lower::Statement& s) {
    const auto* copy = std::get_if<lower::Copy>(&s.what);
    const auto* compute = std::get_if<lower::Compute>(&s.what);
    const auto* branch = std::get_if<lower::If>(&s.what);
    return (copy != nullptr && never(copy->when)) || (compute != nullptr && never(compute->when)) ||
           (branch != nullptr && never(branch->when));
  }
  // The line that a copy has which no thread makes.
  void without_copy() { out_.copy_lines.push_back(page_.add("// no thread copies here")); }
  void without_statements(const std::vector<lower::Statement>& body) {
    lower::for_each_statement(body, [&](const lower::Statement& s) {
      if (std::holds_alternative<lower::Copy>(s.what) || std::holds_alternative<lower::LoadMatrix>(s.what))
        without_copy();
      if (std::holds_alternative<lower::TmaLoad>(s.what) || std::holds_alternative<lower::TmaStore>(s.what))
        out_.box_lines.push_back(page_.add("// no thread copies here"));
    });
  }

  // A call of one thread about a box, with `more` of its arguments.
  void add_box(const std::string& call, const lower::TmaBox& box, const std::string& more) {
    std::vector<std::string> at;
    for (std::size_t d = box.dims.size(); d-- > 0;) at.push_back(formulas_.affine(box.dims[d].at));
    const auto map = std::find(out_.maps.begin(), out_.maps.end(), map_of(kernel_, box)) - out_.maps.begin();
    std::vector<std::string> arguments = {fmt::format("threadIdx.x == {},", role_ == nullptr ? 0 : role_->first_thread),
                                          fmt::format("&{},", formulas_.element(box.shared)),
                                          names_.maps[static_cast<std::size_t>(map)] + ",",
                                          fmt::format("{{{}}}{}", fmt::join(at, ", "), more.empty() ? ");" : ",")};
    if (!more.empty()) arguments.push_back(more);
    out_.box_lines.push_back(page_.add_list(call, arguments));
  }

  // The thread of the role that issues what one thread does.
  std::string issuer() const { return fmt::format("threadIdx.x == {}", role_ == nullptr ? 0 : role_->first_thread); }
  const lower::Mbarrier& mbarrier(int i) const { return kernel_.mbarriers[static_cast<std::size_t>(i)]; }
  std::string phase(int mbarrier, const lower::Affine& number) const {
    return fmt::format("{}, {}", names_.mbarriers[static_cast<std::size_t>(mbarrier)], formulas_.affine(number));
  }

  // "if (threadIdx.x < 256) ", where the roles before end at thread `begin`; nothing where all others are of the role.
  std::string in_role(const lower::WarpRole& r, std::int64_t begin) const {
    std::vector<std::string> conditions;
    const std::int64_t end = r.first_thread + r.threads;
    if (r.first_thread > begin) conditions.push_back(fmt::format("threadIdx.x >= {}", r.first_thread));
    if (end < kernel_.threads) conditions.push_back(fmt::format("threadIdx.x < {}", end));
    return conditions.empty() ? "" : fmt::format("if ({}) ", fmt::join(conditions, " && "));
  }

  const lower::Buffer& buffer(const lower::Access& a) const {
    return kernel_.buffers[static_cast<std::size_t>(a.buffer)];
  }

  // Of a block's threads and of a thread's registers; in CUDA the two exclude each other.
  std::string bounds() const {
    const std::string cluster = clusters() ? fmt::format("__cluster_dims__({}, 1, 1) ", kernel_.cluster) : "";
    std::string threads = fmt::format("{}__launch_bounds__({})", cluster, kernel_.threads);
    if (kernel_.registers == 0) return threads;
    const std::string registers = fmt::format("__maxnreg__({})", kernel_.registers);
    return dialect_ == Dialect::kHip ? threads + " " + registers : cluster + registers;
  }

  std::int64_t smallest_shared_element() const {
    std::int64_t least = 0;
    for (const lower::Buffer& b : kernel_.buffers)
      if (b.space == Space::kShared)
        least = least == 0 ? base::size_of(b.dtype).n : std::min(least, base::size_of(b.dtype).n);
    return std::max<std::int64_t>(1, least);
  }

  std::vector<std::string> parameters() const {
    const std::vector<int> written = written_globals(kernel_);
    std::vector<std::string> out;
    for (const int global : out_.globals) {
      const auto b = std::find_if(kernel_.buffers.begin(), kernel_.buffers.end(), [&](const lower::Buffer& buffer) {
        return buffer.space == Space::kGlobal && buffer.global == global;
      });
      const bool constant = std::find(written.begin(), written.end(), global) == written.end();
      out.push_back(fmt::format("{}{}* __restrict__ {}", constant ? "const " : "", type_of(b->dtype),
                                names_.buffers[static_cast<std::size_t>(b - kernel_.buffers.begin())]));
    }
    for (const std::string& m : names_.maps) out.push_back("const __grid_constant__ tensor_map " + m);
    const std::string type = out_.wide_scalars ? "double " : "float ";
    for (const int s : out_.scalars) out.push_back(type + names_.scalars[static_cast<std::size_t>(s)]);
    return out;
  }

  void arrays() {
    for (const Space space : {Space::kShared, Space::kRegister})
      for (std::size_t i = 0; i < kernel_.buffers.size(); ++i)
        if (kernel_.buffers[i].space == space) page_.add(array(kernel_.buffers[i], names_.buffers[i]));
  }

  void mbarriers() {
    for (std::size_t i = 0; i < kernel_.mbarriers.size(); ++i)
      page_.add(fmt::format("mbarrier* const {} = shared_array<mbarrier>({});", names_.mbarriers[i],
                            kernel_.mbarriers[i].offset_bytes));
    for (std::size_t i = 0; i < kernel_.mbarriers.size(); ++i)
      page_.add(fmt::format("mbarrier_init<{}>({}, {});", kernel_.mbarriers[i].stages, names_.mbarriers[i],
                            kernel_.mbarriers[i].arrivals));
    if (kernel_.mbarriers.empty()) return;
    page_.add("mbarrier_init_fence();");
    if (clusters()) page_.add("cluster_sync();");
    page_.add("");
  }

  // The thread's number, of which the compiler does not know that it is that of the tile before.
  void thread_of_tile() {
    const std::string& name = names_.indices[lower::kThreadIndex];
    page_.note("computed for each tile: registers would spill that keep a thread's addresses");
    page_.add(fmt::format("int {} = threadIdx.x;", name));
    page_.add(fmt::format("asm volatile(\"\" : \"+r\"({}));", name));
  }

  static std::string array(const lower::Buffer& b, const std::string& name) {
    if (b.space == Space::kRegister) return fmt::format("{} {}[{}];", type_of(b.dtype), name, b.elements);
    return fmt::format("{0}* const {1} = shared_array<{0}>({2});", type_of(b.dtype), name, b.offset_bytes);
  }

  void statements(const std::vector<lower::Statement>& body) {
    for (const lower::Statement& s : body) {
      page_.note(s.note);
      std::visit(*this, s.what);
    }
  }

  std::string_view verb(const lower::Copy& c) const {
    const Space to = buffer(c.to).space, from = buffer(c.from).space;
    if (c.asynchronous) {
      base::check(to == Space::kShared && from == Space::kGlobal,
                  "an asynchronous copy goes from memory to scratchpad");
      return "cp_async";
    }
    base::check((to == Space::kRegister) != (from == Space::kRegister), "one side of a copy is registers");
    return to == Space::kRegister ? "load" : "store";
  }

  const lower::Kernel& kernel_;
  Dialect dialect_;
  const MatrixDefinitions& matrices_;
  KernelNames names_;
  Formulas formulas_;
  Scopes scopes_;
  Page& page_;
  Products products_;
  std::vector<int> open_loops_;
  const lower::WarpRole* role_ = nullptr;  // whose body is written
  EmittedKernel out_;
};

}  // namespace

namespace {

template <class Kind>
bool has(const lower::Module& module) {
  bool any = false;
  for (const lower::Kernel& k : module.kernels)
    lower::for_each_statement(k.body,
                              [&](const lower::Statement& s) { any = any || std::holds_alternative<Kind>(s.what); });
  return any;
}

bool has_boxes(const lower::Module& module) {
  return has<lower::TmaStore>(module) || std::any_of(module.kernels.begin(), module.kernels.end(),
                                                     [](const lower::Kernel& k) { return !k.mbarriers.empty(); });
}

bool has_clusters(const lower::Module& module) {
  return std::any_of(module.kernels.begin(), module.kernels.end(),
                     [](const lower::Kernel& k) { return k.cluster > 1; });
}

}  // namespace

std::vector<std::string> refusals(const lower::Module& module, Dialect dialect) {
  if (dialect == Dialect::kCpu) return {};
  NamePool pool;
  std::vector<std::string> out = MatrixDefinitions(module, pool).refusals(dialect);
  if (dialect == Dialect::kHip && has_boxes(module))
    out.emplace_back("HIP has no words for bulk copies and their signals");
  if (dialect == Dialect::kHip && (has<lower::ClusterBarrier>(module) || has_clusters(module)))
    out.emplace_back("HIP has no clusters of blocks");
  return out;
}

Emitted emit(const lower::Module& module, std::string_view about, Dialect dialect) {
  std::string head;
  for (std::size_t begin = 0; begin < about.size();) {
    const std::size_t end = std::min(about.find('\n', begin), about.size());
    head += fmt::format("// {}\n", about.substr(begin, end - begin));
    begin = end + 1;
  }
  NamePool pool;
  const std::vector<std::string> names = function_names(module, pool);
  const MatrixDefinitions matrices(module, pool);
  for (std::size_t k = 0; k < names.size(); ++k)
    head += fmt::format("//   {}\n", launch(module, module.kernels[k], names[k]));
  Emitted out;
  out.definitions = matrices.names();
  out.cpu_definitions = matrices.text(Dialect::kCpu);
  Page page;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const lower::Kernel kernel = lower::without_known_guards(module.kernels[k]);
    out.kernels.push_back(KernelEmitter(module, kernel, names[k], dialect, matrices, page).run());
  }
  const std::string kernels = page.take(), own = matrices.text(dialect);
  const std::string prelude = prelude_for(own + kernels, dialect);
  out.text = head + "\n" + prelude + (prelude.empty() ? "" : "\n") + own;
  out.kernels_begin = out.text.size();
  out.kernels_line = 1 + static_cast<int>(std::count(out.text.begin(), out.text.end(), '\n'));
  for (EmittedKernel& k : out.kernels)
    for (auto* lines : {&k.copy_lines, &k.box_lines})
      for (int& line : *lines) line += out.kernels_line - 1;
  out.text += kernels;
  return out;
}

}  // namespace tilescope::cuda
