#include "backends/cuda/scopes.h"

#include <algorithm>
#include <variant>

namespace tilescope::cuda {
namespace {

using lower::Affine;
using lower::AffineTerm;
using lower::IndexKind;

bool has(const std::vector<int>& set, int value) { return std::find(set.begin(), set.end(), value) != set.end(); }

// Marks every index that statements name themselves.
class Uses {
 public:
  explicit Uses(std::vector<bool>& used) : used_(used) {}

  void operator()(const lower::Loop& l) { all(l.body); }
  void operator()(const lower::If& i) {
    guards(i.when);
    all(i.body);
  }
  void operator()(const lower::Copy& c) {
    affine(c.to.offset);
    affine(c.from.offset);
    guards(c.when);
    guards(c.inside);
  }
  void operator()(const lower::Compute& c) {
    affine(c.target.offset);
    for (const lower::Access& a : c.operands) affine(a.offset);
  }
  void operator()(const lower::LoadMatrices& l) {  // which lanes read is not written down
    affine(l.rows.to.offset);
    affine(l.rows.from.offset);
  }
  void operator()(const lower::MultiplyMatrices& m) {
    for (const lower::Access* a : {&m.d, &m.a, &m.b}) affine(a->offset);
  }
  void operator()(const lower::MultiplyStaged& m) {
    for (const lower::Access* a : {&m.d, &m.a.at, &m.b.at}) affine(a->offset);
  }
  void operator()(const lower::BeginProducts&) {}
  void operator()(const lower::EndProducts&) {}
  void operator()(const lower::Publish&) {}
  void operator()(const lower::Barrier&) {}
  void operator()(const lower::Commit&) {}
  void operator()(const lower::Wait&) {}
  void operator()(const lower::WarpRoles& w) {
    for (const lower::WarpRole& r : w.roles) all(r.body);
  }
  void operator()(const lower::Arrive& a) { affine(a.use); }
  void operator()(const lower::Await& a) { affine(a.use); }
  void operator()(const lower::BulkCopy& b) {
    affine(b.to.offset);
    for (const lower::BoxDim& d : b.dims) affine(d.at);
    affine(b.use);
  }

  void all(const std::vector<lower::Statement>& body) {
    for (const lower::Statement& s : body) std::visit(*this, s.what);
  }

 private:
  void affine(const Affine& a) {
    for (const AffineTerm& t : a.terms) used_[static_cast<std::size_t>(t.index)] = true;
  }
  void guards(const std::vector<lower::Guard>& all) {
    for (const lower::Guard& g : all) affine(g.value);
  }

  std::vector<bool>& used_;
};

}  // namespace

Scopes::Scopes(const lower::Kernel& kernel) : kernel_(kernel), loops_of_(kernel.indices.size()) {
  for (std::size_t i = 0; i < kernel.indices.size(); ++i) {
    if (kernel.indices[i].kind == IndexKind::kLoop) loops_of_[i] = {static_cast<int>(i)};
    for (const AffineTerm& t : kernel.indices[i].of.terms)
      for (const int loop : loops_of_[static_cast<std::size_t>(t.index)])
        if (!has(loops_of_[i], loop)) loops_of_[i].push_back(loop);
  }
}

// A derived index stands after those it is made of, so one pass backwards finds all.
std::vector<bool> Scopes::used_in(const std::vector<lower::Statement>& body) const {
  std::vector<bool> used(kernel_.indices.size(), false);
  Uses(used).all(body);
  for (std::size_t i = used.size(); i-- > 0;)
    if (used[i])
      for (const AffineTerm& t : kernel_.indices[i].of.terms) used[static_cast<std::size_t>(t.index)] = true;
  return used;
}

std::vector<int> Scopes::at_top() const {
  const std::vector<bool> used = used_in(kernel_.body);
  std::vector<int> out;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i] && loops_of_[i].empty()) out.push_back(static_cast<int>(i));
  return out;
}

std::vector<int> Scopes::at_loop(const lower::Loop& loop, const std::vector<int>& open) const {
  const std::vector<bool> used = used_in(loop.body);
  std::vector<int> out;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::vector<int>& loops = loops_of_[i];
    const bool known = std::all_of(loops.begin(), loops.end(), [&](int l) { return l == loop.index || has(open, l); });
    if (used[i] && kernel_.indices[i].kind == IndexKind::kDerived && has(loops, loop.index) && known)
      out.push_back(static_cast<int>(i));
  }
  return out;
}

}  // namespace tilescope::cuda
