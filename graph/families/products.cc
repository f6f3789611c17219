// SPDX-License-Identifier: Apache-2.0
// Sums of products: matrices and Einstein's notation.

#include <algorithm>
#include <map>

#include "graph/detail/writer.h"

namespace tilescope::graph {
namespace {

// Batches are repeated as numpy does; vectors are matrices of one row or column, which the result drops. `from` is
// subtracted from both, where zero points are.
struct Matrices {
  Names to;
  Shape shape;  // of the result
  std::string left, right;
};

Matrices matrices(Writer& w, std::size_t left, std::size_t right) {
  const Shape &a = w.shape(left), &b = w.shape(right);
  if (a.empty() || b.empty()) throw Refusal("a product of scalars");
  const bool row = a.size() == 1, column = b.size() == 1;
  const Shape a_batch(a.begin(), a.end() - (row ? 1 : 2)), b_batch(b.begin(), b.end() - (column ? 1 : 2));
  const Shape batch = broadcast_shape({a_batch, b_batch});
  const std::int64_t depth = a.back();
  if (depth != b[column ? 0 : b.size() - 2])
    throw Contradiction(fmt::format("a product over {} and {}", depth, b[column ? 0 : b.size() - 2]));
  Matrices out;
  Names at = batch.empty() ? Names{} : w.axes(batch);
  out.shape = batch;
  const std::string k = w.axis(depth);
  const auto coordinates = [&](const Shape& own) {
    Names c;
    for (std::size_t d = 0; d < own.size(); ++d) c.push_back(own[d] == 1 ? "0" : at[at.size() - own.size() + d]);
    return c;
  };
  Names of_a = coordinates(a_batch), of_b = coordinates(b_batch);
  out.to = at;
  if (!row) {
    out.to.push_back(w.axis(a[a.size() - 2]));
    of_a.push_back(out.to.back());
    out.shape.push_back(a[a.size() - 2]);
  }
  of_a.push_back(k);
  of_b.push_back(k);
  if (!column) {
    out.to.push_back(w.axis(b.back()));
    of_b.push_back(out.to.back());
    out.shape.push_back(b.back());
  }
  if (out.to.empty()) out.to.push_back(w.axis(1));
  out.left = w.read(left, of_a);
  out.right = w.read(right, of_b);
  return out;
}

void product(Writer& w) {
  const Matrices m = matrices(w, 0, 1);
  w.output(0, w.input(0).element, m.shape, m.to, "+=!", fmt::format("{} * {}", m.left, m.right));
}

void integer_product(Writer& w) {
  const Matrices m = matrices(w, 0, 1);
  // A zero point is one number, or one a row of the first and a column of the second.
  const auto shifted = [&](const std::string& x, std::size_t zero, std::size_t from_end) {
    if (!w.has(zero)) return x;
    const bool one = elements_of(w.shape(zero)) == 1;
    return fmt::format("({} - {})", x,
                       w.read(zero, {elements_of(w.shape(zero))}, {one ? "0" : m.to.at(m.to.size() - from_end)}));
  };
  w.output(0, Element::kI32, m.shape, m.to, "+=!",
           fmt::format("{} * {}", shifted(m.left, 2, 2), shifted(m.right, 3, 1)));
}

void general_product(Writer& w) {
  const bool ta = w.number("transA", 0) != 0, tb = w.number("transB", 0) != 0;
  const std::string m = w.axis(w.shape(0).at(ta ? 1 : 0)), n = w.axis(w.shape(1).at(tb ? 0 : 1)),
                    k = w.axis(w.shape(0).at(ta ? 0 : 1));
  const Names to = {m, n};
  const std::string sum = w.stage(
      to, "+=!",
      fmt::format("{} * {}", w.read(0, ta ? Names{k, m} : Names{m, k}), w.read(1, tb ? Names{n, k} : Names{k, n})));
  std::string body = fmt::format("{} * {}", text_of(w.real("alpha", 1)), Writer::at(sum, to));
  if (w.has(2)) body += fmt::format(" + {} * {}", text_of(w.real("beta", 1)), w.broadcast(2, to));
  w.output(0, w.input(0).element, to, "=", body);
}

// `bij,bjk->bik`; an ellipsis stands for all dimensions that have no letter.
void einstein(Writer& w) {
  std::string text = w.attribute<std::string>("equation", "");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  std::vector<std::string> terms;
  std::string left = text.substr(0, arrow);
  for (std::size_t at = 0; at <= left.size();) {
    const std::size_t end = std::min(left.find(',', at), left.size());
    terms.push_back(left.substr(at, end - at));
    at = end + 1;
  }
  if (terms.size() != w.inputs()) throw Contradiction("an equation of another number of operands");
  std::map<std::string, std::string> axis_of;  // by letter, or place in the ellipsis from its end
  std::map<char, int> uses;
  std::size_t dots_rank = 0;
  std::vector<std::vector<std::string>> labels;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::size_t dots = terms[i].find("...");
    const std::size_t letters = terms[i].size() - (dots == std::string::npos ? 0 : 3);
    if (letters > w.shape(i).size() || (dots == std::string::npos && letters != w.shape(i).size()))
      throw Contradiction("an equation of another number of dimensions");
    std::vector<std::string> own;
    for (std::size_t c = 0; c < terms[i].size(); ++c) {
      if (c == dots) {
        const std::size_t count = w.shape(i).size() - letters;
        dots_rank = std::max(dots_rank, count);
        for (std::size_t d = count; d-- > 0;) own.push_back(fmt::format("{}", d));
        c += 2;
        continue;
      }
      own.emplace_back(1, terms[i][c]);
      ++uses[terms[i][c]];
    }
    for (std::size_t d = 0; d < own.size(); ++d)
      if (!axis_of.contains(own[d]) && (w.shape(i)[d] != 1 || i + 1 == terms.size() || own[d][0] > '9'))
        axis_of[own[d]] = w.axis(w.shape(i)[d]);
    labels.push_back(std::move(own));
  }
  std::vector<std::string> result;
  const auto add_dots = [&] {
    for (std::size_t d = dots_rank; d-- > 0;) result.push_back(fmt::format("{}", d));
  };
  if (arrow == std::string::npos) {
    add_dots();
    for (const auto& [letter, count] : uses)
      if (count == 1) result.emplace_back(1, letter);
  } else {
    const std::string right = text.substr(arrow + 2);
    for (std::size_t c = 0; c < right.size(); ++c)
      if (right[c] == '.') {
        add_dots();
        c += 2;
      } else {
        result.emplace_back(1, right[c]);
      }
  }
  Names to;
  for (const std::string& label : result) to.push_back(axis_of.at(label));
  std::string body;
  Names read_axes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    Names at;
    for (std::size_t d = 0; d < labels[i].size(); ++d) {
      const std::string& a = axis_of.at(labels[i][d]);
      at.push_back(w.shape(i)[d] == 1 && w.size(a) != 1 ? "0" : a);
      read_axes.push_back(a);
    }
    body += (body.empty() ? "" : " * ") + w.read(i, at);
  }
  const bool reduces = std::any_of(read_axes.begin(), read_axes.end(), [&](const std::string& a) {
    return std::find(to.begin(), to.end(), a) == to.end();
  });
  const Shape shape = w.sizes(to);
  if (to.empty()) to.push_back(w.axis(1));
  w.output(0, w.input(0).element, shape, to, reduces ? "+=!" : "=", body);
}

}  // namespace

bool write_products(Writer& w) {
  return write_by_kind(
      w, {{"MatMul", product}, {"MatMulInteger", integer_product}, {"Gemm", general_product}, {"Einsum", einstein}});
}

}  // namespace tilescope::graph
