// SPDX-License-Identifier: Apache-2.0
#pragma once
// Expressions of several stages that read each other, drawn at random. Call inside a property: rapidcheck prints the
// seed.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/support/random_program.h"

namespace tilescope::tests {

// Whatever the size of the test: small tests of one kind of stage alone would find little.
inline std::int64_t evenly(std::int64_t least, std::int64_t most) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(least, most + 1));
}

template <class T>
T one_of(const std::vector<T>& values) {
  return values[static_cast<std::size_t>(evenly(0, static_cast<std::int64_t>(values.size()) - 1))];
}

// Writes a chain of stages, each of which reads the one before it and some an earlier one too. Sums are of what is
// exact in the dtype, so that their order does not matter.
class RandomStages {
 public:
  explicit RandomStages(base::Dtype dtype) : dtype_(dtype) {}

  expr::Expression any(std::int64_t stages) {
    for (std::int64_t s = 0; s < stages; ++s) add_stage();
    return expression(fmt::format("{}", fmt::join(text_, "; ")), fmt::format("{}", fmt::join(sizes_, ",")), {}, dtype_);
  }

 private:
  // `magnitude` bounds the values, which are multiples of 1 / 2^fraction; a sum of others depends on its order.
  struct Drawn {
    std::string name;
    std::vector<std::int64_t> shape;
    double magnitude = 1;
    int fraction = 2;
    bool exact = true;

    bool sums_up(std::int64_t times) const {
      return exact && magnitude * static_cast<double>(times) * static_cast<double>(1 << fraction) < (1 << 22);
    }
  };

  std::string axis(std::int64_t size) {
    const std::string name(1, static_cast<char>('a' + sizes_.size()));
    sizes_.push_back(fmt::format("{}={}", name, std::max<std::int64_t>(1, size)));
    return name;
  }
  Drawn input(std::vector<std::int64_t> shape) {
    return {fmt::format("I{}", inputs_++), std::move(shape), base::is_integer(dtype_) ? 4.0 : 1.0,
            base::is_integer(dtype_) ? 0 : 2, true};
  }
  // A tensor with as many dimensions: a computed one, if there is one, or an input.
  Drawn another(const std::vector<std::int64_t>& shape) {
    std::vector<Drawn> same;
    for (const Drawn& d : computed_)
      if (d.shape.size() == shape.size()) same.push_back(d);
    return same.empty() || evenly(0, 1) == 0 ? input(shape) : one_of(same);
  }
  // Mostly as many as there are; one fewer or more reads less than is written, or beyond it.
  static std::int64_t near(std::int64_t size) { return size + one_of<std::int64_t>({0, 0, 0, -1, 1}); }

  void write(const Drawn& like, std::vector<std::int64_t> shape, const std::string& indices, const std::string& rest) {
    Drawn out = like;
    out.name = fmt::format("T{}", computed_.size());
    out.shape = std::move(shape);
    text_.push_back(fmt::format("{}[{}] {}", out.name, indices, rest));
    computed_.push_back(std::move(out));
  }
  static Drawn sum_of(const Drawn& a, const Drawn& b) {
    return {{}, {}, a.magnitude + b.magnitude, std::max(a.fraction, b.fraction), a.exact && b.exact};
  }
  static Drawn product_of(const Drawn& a, const Drawn& b, std::int64_t times) {
    return {
        {}, {}, a.magnitude * b.magnitude * static_cast<double>(times), a.fraction + b.fraction, a.exact && b.exact};
  }

  void add_stage() {
    const std::int64_t least = evenly(1, 3);
    const Drawn main = !computed_.empty()  ? computed_.back()
                       : evenly(0, 4) == 0 ? input({evenly(least, 40)})
                                           : input({evenly(least, 20), evenly(least, 20)});
    if (main.shape.size() == 1)
      add_of_vector(main);
    else
      add_of_matrix(main);
  }

  // One element of another tensor, at those of a matrix.
  std::pair<std::string, Drawn> element_beside(const std::vector<std::int64_t>& shape, const std::string& i,
                                               const std::string& j) {
    switch (evenly(0, 2)) {
      case 0: {
        const Drawn o = another(shape);
        return {fmt::format("{}[{},{}]", o.name, i, j), o};
      }
      case 1: {
        const Drawn o = another({shape[0]});
        return {fmt::format("{}[{}]", o.name, i), o};
      }
      default: {
        const Drawn o = another({shape[1]});
        return {fmt::format("{}[{}]", o.name, j), o};
      }
    }
  }

  void add_of_vector(const Drawn& main) {
    const std::int64_t n = main.shape[0];
    switch (evenly(0, 3)) {
      case 0: {
        const std::string i = axis(near(n));
        return write(main, {size()}, i, fmt::format("= abs({}[{}])", main.name, i));
      }
      case 1: {
        const std::string x = axis(near(n - 1));
        return write(sum_of(main, main), {size()}, x,
                     fmt::format("= {0}[{1}] + {0}[{1}+{2}]", main.name, x, one_of<int>({1, 2})));
      }
      case 2: {
        const std::string i = axis(near(n)), j = axis(evenly(1, 12));
        const std::int64_t rows = size(1), columns = size();
        const Drawn other = another({rows, columns});
        return write(sum_of(main, other), {rows, columns}, i + "," + j,
                     fmt::format("= {}[{},{}] - {}[{}]", other.name, i, j, main.name, i));
      }
      default: {
        const std::string i = axis(near(n)), j = axis(near(n));
        return write(sum_of(main, main), {size(1), size()}, i + "," + j,
                     fmt::format("= {0}[{1}] - {0}[{2}]", main.name, i, j));
      }
    }
  }

  void add_of_matrix(const Drawn& main) {
    const std::int64_t kind = evenly(0, 9);
    if (kind <= 2) return reduce(main);
    if (kind == 3 && main.sums_up(24)) return multiply(main);
    if (kind == 4 && main.sums_up(36)) return convolve(main);
    // Kernels round between additions of values that are not exact, interpreter and plain loops behind the last.
    if (kind == 5 && main.exact) return taps(main);
    if (kind == 6) return elsewhere(main);
    const std::string i = axis(near(main.shape[0])), j = axis(near(main.shape[1]));
    const std::vector<std::int64_t> shape = {size(1), size()};
    const auto [element, other] = element_beside(shape, i, j);
    const char* form =
        one_of<const char*>({"= {0}[{1},{2}] - {3}", "= relu({0}[{1},{2}] + {3})", "= max({0}[{1},{2}], {3})"});
    write(sum_of(main, other), shape, i + "," + j, fmt::format(fmt::runtime(form), main.name, i, j, element));
  }

  void reduce(const Drawn& main) {
    const bool rows = evenly(0, 3) > 0;
    const std::string i = axis(near(main.shape[0])), j = axis(near(main.shape[1]));
    const std::int64_t kept = rows ? size(1) : size(), reduced = rows ? size() : size(1);
    std::vector<std::string> reducers = {"max=!", "min=!"};
    if (main.sums_up(reduced)) reducers.insert(reducers.end(), {"+=!", "+=!", "mean=!"});
    const std::string reducer = one_of(reducers);
    Drawn out = main;
    if (reducer == "+=!") out.magnitude *= static_cast<double>(reduced);
    if (reducer == "mean=!") out.exact = false;
    const char* form = one_of<const char*>({"{} {}[{},{}]", "{} {}[{},{}]", "{} relu({}[{},{}])"});
    write(out, {kept}, rows ? i : j, fmt::format(fmt::runtime(form), reducer, main.name, i, j));
  }

  void multiply(const Drawn& main) {
    const std::string i = axis(near(main.shape[0])), j = axis(evenly(1, 9)), k = axis(near(main.shape[1]));
    Drawn other = another({size(1), size()});
    if (!product_of(main, other, size()).sums_up(1)) other = input({size(1), size()});
    write(product_of(main, other, size()), {size(2), size(1)}, i + "," + j,
          fmt::format("+=! {}[{},{}] * {}[{},{}]", main.name, i, k, other.name, j, k));
  }

  void convolve(const Drawn& main) {
    const std::int64_t stride = one_of<std::int64_t>({1, 1, 2});
    const std::string y = axis(near(main.shape[0] / stride)), x = axis(near(main.shape[1])), r = axis(evenly(1, 3)),
                      s = axis(evenly(1, 3));
    const Drawn taps = input({size(1), size()});
    write(product_of(main, taps, 9), {size(3), size(2)}, y + "," + x,
          fmt::format("+=! {}[{}*{}+{},{}+{}] * {}[{},{}]", main.name, y, stride, r, x, s, taps.name, r, s));
  }

  // Neighbours in either direction, beyond the tensor at its ends.
  void taps(const Drawn& main) {
    const std::string y = axis(near(main.shape[0])), x = axis(near(main.shape[1]));
    const auto at = [](const std::string& name, std::int64_t by) {
      return by == 0 ? name : fmt::format("{}{:+}", name, by);
    };
    std::string body = fmt::format("= {}[{},{}]", main.name, y, x);
    Drawn out = main;
    for (std::int64_t n = evenly(1, 2); n-- > 0;) {
      body += fmt::format(" + {}[{},{}]", main.name, at(y, evenly(-1, 2)), at(x, evenly(-1, 2)));
      out = sum_of(out, main);
    }
    write(out, {size(1), size()}, y + "," + x, body);
  }

  // Other coordinates than the tensor was written at: transposed, shifted, every second one, each twice.
  void elsewhere(const Drawn& main) {
    const std::string i = axis(near(main.shape[0])), j = axis(near(main.shape[1]));
    switch (evenly(0, 3)) {
      case 0:
        return write(main, {size(), size(1)}, j + "," + i, fmt::format("= -{}[{},{}]", main.name, i, j));
      case 1:
        return write(main, {size(1), size()}, i + "," + j, fmt::format("= abs({}[{},{}*2])", main.name, i, j));
      case 2:
        return write(main, {size(1), size()}, i + "," + j, fmt::format("= abs({}[{}/2,{}])", main.name, i, j));
      default:
        return write(main, {size(1), size()}, i + "," + j,
                     fmt::format("= {0}[{1},{2}] - {0}[{1}+1,{3}-{2}]", main.name, i, j, size()));
    }
  }

  // Of the axis before so many others.
  std::int64_t size(std::size_t before = 0) const { return std::stoll(sizes_[sizes_.size() - 1 - before].substr(2)); }

  const base::Dtype dtype_;
  int inputs_ = 0;
  std::vector<std::string> text_, sizes_;
  std::vector<Drawn> computed_;
};

}  // namespace tilescope::tests
