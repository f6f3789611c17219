// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tilescope as a library, in C++17 over the C interface of tilescope.h: objects that free themselves, and exceptions of
// the caller's own code. With CMake, find_package(tilescope) and link tilescope::tilescope.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tilescope/tilescope.h>
#include <utility>
#include <vector>

namespace tilescope {

// What is wrong with an input, or a note. Line 0 is the input as a whole.
struct Message {
  bool is_error = false;
  std::string input;
  std::uint32_t line = 0, column = 0;
  std::string text;

  // "file:line:column: text".
  std::string str() const {
    std::string place = input;
    if (line > 0) place += ":" + std::to_string(line) + ":" + std::to_string(column);
    return place + ": " + text;
  }
};

// An input has mistakes. what() has one a line.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Message> messages)
      : std::runtime_error(joined(messages)), messages_(std::move(messages)) {}

  const std::vector<Message>& messages() const { return messages_; }

 private:
  static std::string joined(const std::vector<Message>& messages) {
    std::string out;
    for (const Message& m : messages)
      if (m.is_error) out += (out.empty() ? "" : "\n") + m.str();
    return out;
  }

  std::vector<Message> messages_;
};

namespace detail {

// A handle of the C interface that is freed with its last owner.
template <class T>
using Handle = std::shared_ptr<T>;

// The messages of one call.
class Messages {
 public:
  Messages() : messages_(tilescope_messages_new(), tilescope_messages_free) {}

  tilescope_messages* get() const { return messages_.get(); }
  std::vector<Message> all() const {
    std::vector<Message> out;
    for (std::size_t i = 0; i < tilescope_messages_count(get()); ++i) {
      const tilescope_message m = tilescope_messages_at(get(), i);
      out.push_back({m.is_error != 0, m.input, m.line, m.column, m.text});
    }
    return out;
  }
  // The handle that a call returned; throws InputError where it is null.
  template <class T, class Free>
  Handle<T> owned(T* handle, Free free) const {
    if (handle == nullptr) throw InputError(all());
    return Handle<T>(handle, free);
  }

 private:
  std::unique_ptr<tilescope_messages, void (*)(tilescope_messages*)> messages_;
};

// The text that a call returned, which it frees.
inline std::string taken(char* text) {
  std::string out = text == nullptr ? "" : text;
  tilescope_free(text);
  return out;
}

}  // namespace detail

struct Column {
  std::string name, unit, about;
};

// The answer to a question: rows of named cells. Copies share their contents.
class Table {
 public:
  explicit Table(detail::Handle<tilescope_table> table) : table_(std::move(table)) {}

  std::size_t rows() const { return tilescope_table_rows(get()); }
  std::vector<Column> columns() const {
    std::vector<Column> out;
    for (std::size_t c = 0; c < tilescope_table_columns(get()); ++c) {
      const tilescope_column column = tilescope_table_column(get(), c);
      out.push_back({column.name, column.unit, column.about});
    }
    return out;
  }
  // The number in that column, NaN where there is none.
  double number(std::size_t row, const std::string& column) const {
    return tilescope_table_number_of(get(), row, column.c_str());
  }
  // The text in that column; nullopt where there is none.
  std::optional<std::string> text(std::size_t row, const std::string& column) const {
    const char* text = tilescope_table_text(get(), row, tilescope_table_find(get(), column.c_str()));
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  }
  // JSON, as the command line prints it with --json.
  std::string document() const { return detail::taken(tilescope_table_document(get())); }
  // The table's programs as JSON lines (Work::programs); empty where it has none.
  std::string programs() const { return detail::taken(tilescope_table_programs(get())); }
  // The handle, for the functions of the C interface that read whole columns.
  const tilescope_table* get() const { return table_.get(); }

 private:
  detail::Handle<tilescope_table> table_;
};

// A chip. Copies share what they were loaded from until they are changed. All functions throw InputError.
class Chip {
 public:
  // A device by its name, or a YAML file.
  explicit Chip(const std::string& name_or_file) {
    const detail::Messages messages;
    chip_ = messages.owned(tilescope_chip_open(name_or_file.c_str(), messages.get()), tilescope_chip_free);
    notes_ = messages.all();
  }
  // A YAML text, which messages call `name`.
  static Chip read(const std::string& yaml, const std::string& name = "chip") {
    const detail::Messages messages;
    return Chip(messages.owned(tilescope_chip_read(yaml.c_str(), name.c_str(), messages.get()), tilescope_chip_free));
  }

  // Changes the value at a path, as in set("memory.smem.banks", "64").
  void set(const std::string& path, const std::string& value) {
    const detail::Messages messages;
    chip_ =
        messages.owned(tilescope_chip_with(get(), path.c_str(), value.c_str(), messages.get()), tilescope_chip_free);
    notes_ = messages.all();
  }
  // The value at a path, JSON.
  std::string value(const std::string& path) const {
    const detail::Messages messages;
    char* text = tilescope_chip_value(get(), path.c_str(), messages.get());
    if (text == nullptr) throw InputError(messages.all());
    return detail::taken(text);
  }
  std::string name() const { return tilescope_chip_name(get()); }
  // JSON, with all that is derived.
  std::string document() const { return detail::taken(tilescope_chip_document(get())); }
  Table area() const { return costs(tilescope_chip_area); }
  Table price() const { return costs(tilescope_chip_price); }
  // What the last change or the file's author should know.
  const std::vector<Message>& notes() const { return notes_; }
  const tilescope_chip* get() const { return chip_.get(); }

 private:
  explicit Chip(detail::Handle<tilescope_chip> chip) : chip_(std::move(chip)) {}
  template <class Ask>
  Table costs(Ask ask) const {
    const detail::Messages messages;
    return Table(messages.owned(ask(get(), messages.get()), tilescope_table_free));
  }

  detail::Handle<tilescope_chip> chip_;
  std::vector<Message> notes_;
};

// What a chip is to compute. All functions throw InputError.
class Work {
 public:
  // An operator in index notation: op("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512", "f16").
  static Work op(const std::string& expression, const std::string& sizes, const std::string& dtype = "",
                 const std::string& shapes = "") {
    const detail::Messages messages;
    return Work(messages.owned(
        tilescope_work_operator(expression.c_str(), sizes.c_str(), shapes.c_str(), dtype.c_str(), messages.get()),
        tilescope_work_free));
  }
  static Work suite(const std::string& name_or_file, const std::string& sizes = "", const std::string& dtype = "") {
    const detail::Messages messages;
    return Work(messages.owned(tilescope_work_suite(name_or_file.c_str(), sizes.c_str(), dtype.c_str(), messages.get()),
                               tilescope_work_free));
  }
  static Work network(const std::string& name_or_file, const std::string& sizes = "", const std::string& dtype = "") {
    const detail::Messages messages;
    return Work(
        messages.owned(tilescope_work_network(name_or_file.c_str(), sizes.c_str(), dtype.c_str(), messages.get()),
                       tilescope_work_free));
  }
  // Programs that exist, JSON lines.
  static Work programs(const std::string& json_lines, const std::string& name = "programs") {
    const detail::Messages messages;
    return Work(
        messages.owned(tilescope_work_programs(json_lines.c_str(), name.c_str(), messages.get()), tilescope_work_free));
  }

  std::string title() const { return tilescope_work_title(get()); }
  const tilescope_work* get() const { return work_.get(); }

 private:
  explicit Work(detail::Handle<tilescope_work> work) : work_(std::move(work)) {}

  detail::Handle<tilescope_work> work_;
};

// How a question is answered; the table of known() lists the options.
class Options {
 public:
  // Called with what is done of all; where it returns true or throws, a sweep ends in good order.
  using Progress = std::function<bool(std::size_t done, std::size_t all)>;

  Options() : options_(tilescope_options_new(), tilescope_options_free) {}

  static Table known() {
    const detail::Messages messages;
    return Table(messages.owned(tilescope_options_known(messages.get()), tilescope_table_free));
  }
  // Throws InputError where there is no such option or value.
  Options& set(const std::string& name, const std::string& value) {
    const detail::Messages messages;
    if (tilescope_options_set(options_.get(), name.c_str(), value.c_str(), messages.get()) != 0)
      throw InputError(messages.all());
    return *this;
  }
  Options& progress(Progress tell) {
    tell_ = std::make_shared<Progress>(std::move(tell));
    const auto call = [](std::size_t done, std::size_t all, void* user) -> int {
      try {
        return (*static_cast<Progress*>(user))(done, all) ? 1 : 0;
      } catch (...) {  // which must not pass the C interface
        return 1;
      }
    };
    tilescope_options_progress(options_.get(), call, tell_.get());
    return *this;
  }
  const tilescope_options* get() const { return options_.get(); }

 private:
  detail::Handle<tilescope_options> options_;
  std::shared_ptr<Progress> tell_;
};

namespace detail {

template <class Ask>
Table answer(Ask ask, const Work& work, const Chip& chip, const Options& options, std::vector<Message>* notes) {
  const Messages messages;
  Table out(messages.owned(ask(work.get(), chip.get(), options.get(), messages.get()), tilescope_table_free));
  if (notes != nullptr) *notes = messages.all();
  return out;
}

}  // namespace detail

// The questions (tilescope.h). Each throws InputError, and leaves what the author of the input should know in `notes`.
inline Table construct(const Work& work, const Chip& chip, const Options& options = {},
                       std::vector<Message>* notes = nullptr) {
  return detail::answer(tilescope_construct, work, chip, options, notes);
}
inline Table predict(const Work& work, const Chip& chip, const Options& options = {},
                     std::vector<Message>* notes = nullptr) {
  return detail::answer(tilescope_predict, work, chip, options, notes);
}
inline Table simulate(const Work& work, const Chip& chip, const Options& options = {},
                      std::vector<Message>* notes = nullptr) {
  return detail::answer(tilescope_simulate, work, chip, options, notes);
}
inline Table verify(const Work& work, const Chip& chip, const Options& options = {},
                    std::vector<Message>* notes = nullptr) {
  return detail::answer(tilescope_verify, work, chip, options, notes);
}
inline Table explain(const Work& work, const Chip& chip, const Options& options = {},
                     std::vector<Message>* notes = nullptr) {
  return detail::answer(tilescope_explain, work, chip, options, notes);
}

// Runs a sweep into a store, or goes on with it; returns the number of rows that were computed.
inline std::int64_t sweep(const std::string& file, const std::string& store, const Options& options = {},
                          std::vector<Message>* notes = nullptr) {
  const detail::Messages messages;
  const std::int64_t computed = tilescope_sweep(file.c_str(), store.c_str(), options.get(), messages.get());
  if (computed < 0) throw InputError(messages.all());
  if (notes != nullptr) *notes = messages.all();
  return computed;
}
// All rows of a stored sweep.
inline Table read(const std::string& store, const std::string& title = "") {
  const detail::Messages messages;
  return Table(
      messages.owned(tilescope_store_read(store.c_str(), title.c_str(), messages.get()), tilescope_table_free));
}
// The devices that come with Tilescope.
inline Table devices() {
  const detail::Messages messages;
  return Table(messages.owned(tilescope_devices(messages.get()), tilescope_table_free));
}

}  // namespace tilescope
