// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

namespace tilescope::cuda::device {
namespace {

// What a device counts blocks with, and what one array may hold.
constexpr std::int64_t kMaxBlocks = 2147483647, kMaxElements = std::int64_t{1} << 40;

// FNV-1a: names for texts, of which a file holds some thousands.
std::uint64_t hash_of(std::string_view text, std::uint64_t so_far) {
  for (const char c : text) so_far = (so_far ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return so_far;
}

std::string hexadecimal(std::uint64_t n) {
  std::string out;
  for (int digit = 15; digit >= 0; --digit) out += "0123456789abcdef"[n >> (4 * digit) & 15U];
  return out;
}

// The words of one line, taken from its front.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) { skip(); }

  bool empty() const { return rest_.empty(); }
  // All that is left.
  std::string rest() { return std::string(std::exchange(rest_, {})); }
  std::string_view next() {
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(word.size());
    skip();
    return word;
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(' '))); }

  std::string_view rest_;
};

// What stands between the separators: a piece more than there are of them.
std::vector<std::string_view> pieces(std::string_view word, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t end = 0; end != std::string_view::npos; word.remove_prefix(std::min(word.size(), end + 1))) {
    end = word.find(separator);
    out.push_back(word.substr(0, end));
  }
  return out;
}

struct BadLine {
  std::string why;
};

template <class Number>
Number number(std::string_view word, std::string_view what, double least, double most) {
  Number out{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  const auto value = static_cast<double>(out);
  if (error == std::errc() && end == word.data() + word.size() && value >= least && value <= most) return out;
  throw BadLine{"expected " + std::string(what) + ", got '" + std::string(word) + "'"};
}

std::int64_t whole(Words& words, std::string_view what, std::int64_t least, std::int64_t most) {
  return number<std::int64_t>(words.next(), what, static_cast<double>(least), static_cast<double>(most));
}

class Reader {
 public:
  Reader(const std::string& folder, std::vector<std::string>& errors) : folder_(folder), errors_(errors) {}

  Plan read(std::string_view text) {
    for (number_ = 1; !text.empty(); ++number_) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      try {
        read_line(line);
      } catch (const BadLine& bad) {
        errors_.push_back("line " + std::to_string(number_) + ": " + bad.why);
      }
      if (!headed_ && !errors_.empty()) break;
    }
    finish_task();
    if (!headed_ && errors_.empty()) errors_.push_back("line 1: expected 'tilescope plan 1'");
    return std::move(plan_);
  }

 private:
  void read_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    Words words(line);
    if (words.empty() || line.front() == '#') return;
    if (!headed_) {
      if (line != "tilescope plan 1") throw BadLine{"expected 'tilescope plan 1'"};
      headed_ = true;
      return;
    }
    const std::string_view verb = words.next();
    if (verb == "task")
      begin_task(words);
    else if (verb == "note" || verb == "remark")
      take_note(words);
    else if (in_task_)
      take_part(verb, words);
    else
      take_head(verb, words);
    if (!words.empty()) throw BadLine{"'" + words.rest() + "' is too much for " + std::string(verb)};
    if (in_task_ && verb != "remark") said_ = hash_of("\n", hash_of(line, said_));
    if (!in_task_ && verb == "note") head_ = said_ = hash_of("\n", hash_of(line, head_));
  }

  void take_head(std::string_view verb, Words& words) {
    if (verb == "helpers") {
      plan_.helpers = path_of(words.rest());
      contents(plan_.helpers);
    } else if (verb == "limit") {
      plan_.limit_seconds = number<double>(words.next(), "seconds", 1e-3, 1e5);
    } else {
      throw BadLine{"unknown word '" + std::string(verb) + "' before the first task"};
    }
  }

  void take_note(Words& words) {
    const std::string key(words.next());
    if (key.empty() || words.empty()) throw BadLine{"a note or remark needs a key and words"};
    (in_task_ ? task().notes : plan_.notes).emplace_back(key, words.rest());
  }

  void begin_task(Words& words) {
    finish_task();
    in_task_ = true;
    plan_.tasks.emplace_back().id = words.rest();
    if (task().id.empty()) throw BadLine{"a task needs an id"};
  }

  void finish_task() {
    if (in_task_) task().key = hexadecimal(said_);
    said_ = head_;
  }

  void take_part(std::string_view verb, Words& words) {
    if (task().timing && task().timing->loop > 1 && (verb == "copy" || verb == "product" || verb == "convolution"))
      throw BadLine{"only launches run in a loop"};
    if (verb == "module") {
      const std::string path = path_of(words.rest());
      said_ = hash_of(contents(path), said_);
      task().module = path;
    } else if (verb == "array") {
      task().arrays.push_back(array(words));
    } else if (verb == "launch") {
      task().steps.emplace_back(launch(words));
    } else if (verb == "copy") {
      const std::size_t to = named_array(words), from = named_array(words);
      task().steps.emplace_back(DeviceCopy{to, from});
    } else if (verb == "product") {
      task().steps.emplace_back(product(words));
    } else if (verb == "convolution") {
      task().steps.emplace_back(convolution(words));
    } else if (verb == "check") {
      const std::size_t checked = named_array(words);
      task().checks.push_back({checked, number<double>(words.next(), "a tolerance", 0, HUGE_VAL), {}});
    } else if (verb == "expect") {
      expect(words);
    } else if (verb == "time") {
      if (task().timing) throw BadLine{"a second time"};
      task().timing = timing(words);
    } else if (verb == "loop") {
      loop(words);
    } else if (verb == "energy") {
      task().energy_seconds = number<double>(words.next(), "seconds", 1e-3, 1e5);
    } else {
      throw BadLine{"unknown word '" + std::string(verb) + "' in a task"};
    }
  }

  Array array(Words& words) {
    Array a;
    a.name = words.next();
    if (std::any_of(task().arrays.begin(), task().arrays.end(), [&](const Array& b) { return b.name == a.name; }))
      throw BadLine{"a second array '" + a.name + "'"};
    const std::string_view dtype = words.next();
    if (const auto known = base::dtype_of(dtype))
      a.dtype = *known;
    else
      throw BadLine{"expected a dtype, got '" + std::string(dtype) + "'"};
    a.elements = whole(words, "a number of elements", 1, kMaxElements);
    const std::string_view role = words.next();
    if (role == "input") {
      a.seed = number<std::uint64_t>(words.next(), "a seed", 0, HUGE_VAL);
    } else if (role == "output") {
      a.role = ArrayRole::kOutput;
    } else if (role == "between") {
      a.role = ArrayRole::kBetween;
    } else if (role == "chain") {
      a.role = ArrayRole::kChain;
      a.step = whole(words, "a step", 1, kMaxElements);
      a.stride = whole(words, "a stride", 1, a.elements);
      if (a.dtype != base::Dtype::kI32 || a.elements > std::numeric_limits<std::int32_t>::max())
        throw BadLine{"a chain is of i32, and no longer than these count"};
    } else {
      throw BadLine{"expected input, output, between or chain, got '" + std::string(role) + "'"};
    }
    return a;
  }

  std::size_t position_of(std::string_view name) {
    const auto& arrays = task().arrays;
    const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const Array& a) { return a.name == name; });
    if (found == arrays.end()) throw BadLine{"no array is named '" + std::string(name) + "'"};
    return static_cast<std::size_t>(found - arrays.begin());
  }
  std::size_t named_array(Words& words) { return position_of(words.next()); }

  Launch launch(Words& words) {
    if (task().module.empty()) throw BadLine{"a launch before its module"};
    Launch l;
    l.function = words.next();
    l.blocks = whole(words, "a number of blocks", 1, kMaxBlocks);
    l.threads = whole(words, "a number of threads", 1, kMaxBlocks);
    l.shared_bytes = whole(words, "bytes of shared memory", 0, kMaxBlocks);
    while (!words.empty()) {
      const std::string_view word = words.next();
      const bool is_number = (word.front() >= '0' && word.front() <= '9') || word.front() == '-';
      if (word.find(':') != std::string_view::npos)
        l.arguments.emplace_back(tensor_map(word));
      else if (!is_number)
        l.arguments.emplace_back(position_of(word));
      else if (word.ends_with('u'))
        l.arguments.emplace_back(number<std::uint32_t>(word.substr(0, word.size() - 1), "a number", 0, HUGE_VAL));
      else if (word.ends_with('d'))
        l.arguments.emplace_back(number<double>(word.substr(0, word.size() - 1), "a number", -HUGE_VAL, HUGE_VAL));
      else
        l.arguments.emplace_back(number<float>(word, "a number", -HUGE_VAL, HUGE_VAL));
    }
    return l;
  }

  TensorMap tensor_map(std::string_view word) {
    const std::vector<std::string_view> parts = pieces(word, ':');
    const std::size_t position = position_of(parts.front());
    const Array& array = task().arrays[position];
    TensorMap map{static_cast<int>(position), array.dtype, {}, 0};
    if (parts[1] != "0" && parts[1] != "32" && parts[1] != "64" && parts[1] != "128")
      throw BadLine{"expected rows of 0, 32, 64 or 128 bytes, got '" + std::string(parts[1]) + "'"};
    map.swizzled_row = number<std::int64_t>(parts[1], "bytes", 0, 128);
    if (parts.size() == 2) throw BadLine{"a tensor map of '" + array.name + "' needs dimensions"};
    for (std::size_t d = 2; d < parts.size(); ++d) map.dims.push_back(dimension(parts[d]));
    if (map.dims.back().stride != 1)
      throw BadLine{"expected a last stride of 1, got '" + std::to_string(map.dims.back().stride) + "'"};
    std::int64_t left = array.elements - 1;  // how far the dimensions that follow may reach
    for (const TensorMap::Dim& d : map.dims) {
      if (d.extent - 1 > left / d.stride) throw BadLine{"a tensor map goes beyond the array '" + array.name + "'"};
      left -= (d.extent - 1) * d.stride;
    }
    return map;
  }

  static TensorMap::Dim dimension(std::string_view words) {
    const std::vector<std::string_view> sizes = pieces(words, ',');
    if (sizes.size() != 3) throw BadLine{"expected EXTENT,STRIDE,BOX, got '" + std::string(words) + "'"};
    const auto size = [](std::string_view word, std::string_view what, std::int64_t most) {
      return number<std::int64_t>(word, what, 1, static_cast<double>(most));
    };
    return {size(sizes[0], "an extent", kMaxElements), size(sizes[1], "a stride", kMaxElements),
            size(sizes[2], "a box's extent", kMaxBlocks)};
  }

  std::int64_t extent(Words& words) { return whole(words, "an extent", 1, 2147483647); }

  Product product(Words& words) {
    Product p;
    for (std::int64_t* size : {&p.m, &p.n, &p.k, &p.batch}) *size = extent(words);
    for (std::size_t* operand : {&p.a, &p.b, &p.c}) *operand = named_array(words);
    return p;
  }

  Convolution convolution(Words& words) {
    Convolution c;
    const std::string_view algorithms = words.next();
    if (algorithms != "any" && algorithms != "implicit")
      throw BadLine{"expected any or implicit, got '" + std::string(algorithms) + "'"};
    c.implicit = algorithms == "implicit";
    for (std::int64_t* size :
         {&c.images, &c.channels, &c.height, &c.width, &c.filters, &c.window_y, &c.window_x, &c.stride_y, &c.stride_x})
      *size = extent(words);
    for (std::int64_t* pad : {&c.pad_y, &c.pad_x}) *pad = whole(words, "a padding", 0, 2147483647);
    c.groups = extent(words);
    for (std::size_t* operand : {&c.in, &c.weights, &c.out}) *operand = named_array(words);
    return c;
  }

  void expect(Words& words) {
    if (task().checks.empty()) throw BadLine{"expect before check"};
    Check& check = task().checks.back();
    const std::int64_t elements = task().arrays[check.array].elements;
    const std::int64_t element = whole(words, "an element of the array", 0, elements - 1);
    const std::string_view value = words.next();
    const bool none = value == "nan" || value == "inf" || value == "-inf";
    const double expected = value == "nan" ? std::nan("") : value == "inf" ? HUGE_VAL : value == "-inf" ? -HUGE_VAL : 0;
    check.expected.push_back({element, none ? expected : number<double>(value, "a value", -HUGE_VAL, HUGE_VAL)});
  }

  Timing timing(Words& words) {
    Timing t;
    const std::string_view cache = words.next();
    if (cache != "cold" && cache != "warm") throw BadLine{"expected cold or warm, got '" + std::string(cache) + "'"};
    t.cold = cache == "cold";
    t.warm_up = static_cast<int>(whole(words, "a number of launches", 0, 1000000));
    t.repeats = static_cast<int>(whole(words, "a number of repeats", 1, 1000000));
    t.seconds = number<double>(words.next(), "seconds", 0, 1e5);
    return t;
  }

  void loop(Words& words) {
    if (!task().timing) throw BadLine{"loop before time"};
    task().timing->loop = static_cast<int>(whole(words, "a number of runs", 1, 1000000));
    const std::string_view how = words.next();
    if (how != "stream" && how != "graph") throw BadLine{"expected stream or graph, got '" + std::string(how) + "'"};
    task().timing->graph = how == "graph";
    for (const Step& s : task().steps)
      if (!std::holds_alternative<Launch>(s)) throw BadLine{"only launches run in a loop"};
  }

  std::string path_of(const std::string& name) const { return name.starts_with('/') ? name : folder_ + "/" + name; }

  static std::string contents(const std::string& path) {
    auto bytes = bytes_of(path);
    if (!bytes) throw BadLine{path + " cannot be read"};
    return std::move(*bytes);
  }

  Task& task() { return plan_.tasks.back(); }

  static constexpr std::uint64_t kNothingSaid = 0xcbf29ce484222325U;

  const std::string& folder_;
  std::vector<std::string>& errors_;
  Plan plan_;
  std::uint64_t head_ = kNothingSaid, said_ = kNothingSaid;  // by the plan's notes; by them and the task
  std::size_t number_ = 0;
  bool headed_ = false, in_task_ = false;
};

}  // namespace

Plan read_plan(std::string_view text, const std::string& folder, std::vector<std::string>& errors) {
  return Reader(folder, errors).read(text);
}

void add_amounts(const Task& task, TaskAmounts& to) {
  ++to.tasks;
  for (const Array& a : task.arrays) to.bytes += static_cast<double>(a.bytes());
  for (const Check& c : task.checks) to.samples += static_cast<std::int64_t>(c.expected.size());
  for (const Step& s : task.steps)
    to.library_calls += std::holds_alternative<Product>(s) || std::holds_alternative<Convolution>(s) ? 1 : 0;
  double run = 0;
  for (const auto& [key, words] : task.notes)
    if (key == "predicted_us") run = 1e-6 * std::strtod(words.c_str(), nullptr);
  if (!task.checks.empty()) to.seconds += 2 * run;  // on two poisons
  if (const auto& t = task.timing)
    to.seconds += std::min(t->repeats * t->loop * run, t->seconds) + (t->warm_up + 1) * t->loop * run;
  to.seconds += task.energy_seconds;
}

std::optional<std::string> bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  // Of an empty file nothing can be written, which `out` takes for a failure.
  if (in.peek() != std::ifstream::traits_type::eof()) out << in.rdbuf();
  if (!in.is_open() || in.bad() || !out) return std::nullopt;
  return out.str();
}

}  // namespace tilescope::cuda::device
