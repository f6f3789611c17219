// SPDX-License-Identifier: Apache-2.0
// tilescope._core: the library's objects in Python. The package over it (python/tilescope) is what users import.

#include <cmath>
#include <cstdint>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <tilescope/tilescope.hpp>
#include <utility>
#include <vector>

namespace py = pybind11;
using tilescope::Chip;
using tilescope::Message;
using tilescope::Options;
using tilescope::Table;
using tilescope::Work;

namespace {

using Tell = std::function<bool(std::size_t, std::size_t)>;  // takes the interpreter's lock itself

// Options as the library reads them; values of Python as texts. Holds the interpreter's lock.
Options options_of(const py::dict& given) {
  Options out;
  for (const auto& [name, value] : given) {
    if (py::isinstance<py::bool_>(value))
      out.set(name.cast<std::string>(), value.is(py::handle(Py_True)) ? "true" : "false");
    else
      out.set(name.cast<std::string>(), py::str(value));
  }
  return out;
}

// (is_error, input, line, column, text) of each message.
py::list as_tuples(const std::vector<Message>& messages) {
  py::list out;
  for (const Message& m : messages) out.append(py::make_tuple(m.is_error, m.input, m.line, m.column, m.text));
  return out;
}

// A question, without the interpreter's lock: the table, and the notes.
template <class Question>
auto asked(Question question) {
  return [question](const Work& work, const Chip& chip, const py::dict& given) {
    const Options options = options_of(given);
    std::vector<Message> notes;
    auto answer = [&] {
      const py::gil_scoped_release unlocked;
      return question(work, chip, options, &notes);
    }();
    return std::make_pair(std::move(answer), as_tuples(notes));
  };
}

// A sweep frees what its next point asks for again. Memory that went back to the system in between would have to be
// cleared each time, as the command line avoids too. Once a process; other calls leave its allocator alone.
void keep_freed_memory() {
#if defined(__GLIBC__)
  static const bool kDone = [] {
    constexpr int kKept = 256 << 20, kGrowth = 16 << 20;  // bytes
    return mallopt(M_TRIM_THRESHOLD, kKept) + mallopt(M_MMAP_THRESHOLD, kKept) + mallopt(M_TOP_PAD, kGrowth) == 3;
  }();
  static_cast<void>(kDone);
#endif
}

py::object cell(const Table& t, std::size_t row, std::size_t column) {
  switch (tilescope_table_kind(t.get(), row, column)) {
    case TILESCOPE_NUMBER:
      return py::float_(tilescope_table_number(t.get(), row, column));
    case TILESCOPE_INTEGER:
      return py::int_(static_cast<std::int64_t>(tilescope_table_number(t.get(), row, column)));
    case TILESCOPE_TRUTH:
      return py::bool_(tilescope_table_number(t.get(), row, column) != 0);
    case TILESCOPE_TEXT:
    case TILESCOPE_DOCUMENT:
      return py::str(tilescope_table_text(t.get(), row, column));
    case TILESCOPE_ABSENT:
      break;
  }
  return py::none();
}

py::array_t<double> numbers(const Table& t, std::size_t column) {
  py::array_t<double> out(static_cast<py::ssize_t>(t.rows()));
  double* to = out.mutable_data();
  const py::gil_scoped_release unlocked;  // several columns are copied at a time
  tilescope_table_numbers(t.get(), column, to);
  return out;
}

// A column of texts: the index of each row's text, -1 where it has none, and the texts.
std::pair<py::array_t<std::int32_t>, std::vector<std::string>> texts(const Table& t, std::size_t column) {
  py::array_t<std::int32_t> out(static_cast<py::ssize_t>(t.rows()));
  std::int32_t* to = out.mutable_data();
  {
    const py::gil_scoped_release unlocked;
    tilescope_table_text_indices(t.get(), column, to);
  }
  std::vector<std::string> all;
  for (std::size_t i = 0; i < tilescope_table_text_count(t.get(), column); ++i)
    all.emplace_back(tilescope_table_text_at(t.get(), column, i));
  return {std::move(out), std::move(all)};
}

void define_table(py::module_& m) {
  py::class_<Table>(m, "Table")
      .def("rows", &Table::rows)
      .def("columns",
           [](const Table& t) {
             std::vector<std::tuple<std::string, std::string, std::string>> out;
             for (tilescope::Column& c : t.columns())
               out.emplace_back(std::move(c.name), std::move(c.unit), std::move(c.about));
             return out;
           })
      .def("find",
           [](const Table& t, const std::string& name) -> py::object {
             const std::size_t found = tilescope_table_find(t.get(), name.c_str());
             return found == SIZE_MAX ? py::object(py::none()) : py::object(py::int_(found));
           })
      .def("cell", cell)
      // The kinds of a column's cells (enum tilescope_kind), a bit each, but for absent ones.
      .def("kinds", [](const Table& t, std::size_t column) { return tilescope_table_kinds(t.get(), column); })
      .def("number", &Table::number)
      .def("numbers", numbers)
      .def("texts", texts)
      .def("document", &Table::document, py::call_guard<py::gil_scoped_release>())
      .def("programs", &Table::programs, py::call_guard<py::gil_scoped_release>());
}

void define_chip(py::module_& m) {
  py::class_<Chip>(m, "Chip")
      .def(py::init<const std::string&>(), py::call_guard<py::gil_scoped_release>())
      .def(py::init<const Chip&>())
      .def_static("read", &Chip::read, py::call_guard<py::gil_scoped_release>())
      .def("set", &Chip::set, py::call_guard<py::gil_scoped_release>())
      .def("value", &Chip::value)
      .def("name", &Chip::name)
      .def("document", &Chip::document)
      .def("area", &Chip::area)
      .def("price", &Chip::price)
      .def("notes", [](const Chip& c) { return as_tuples(c.notes()); });
}

void define_work(py::module_& m) {
  py::class_<Work>(m, "Work")
      .def_static("op", &Work::op, py::call_guard<py::gil_scoped_release>())
      .def_static("suite", &Work::suite, py::call_guard<py::gil_scoped_release>())
      .def_static("network", &Work::network, py::call_guard<py::gil_scoped_release>())
      .def_static("programs", &Work::programs)
      .def("title", &Work::title);
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The objects of libtilescope; import tilescope instead.";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const tilescope::InputError& e) {
      const py::object type = py::module_::import("tilescope._messages").attr("InputError");
      PyErr_SetObject(type.ptr(), as_tuples(e.messages()).ptr());
    }
  });
  define_table(m);
  define_chip(m);
  define_work(m);
  m.def("version", tilescope_version);
  m.def("construct", asked([](auto&&... a) { return tilescope::construct(a...); }));
  m.def("predict", asked([](auto&&... a) { return tilescope::predict(a...); }));
  m.def("simulate", asked([](auto&&... a) { return tilescope::simulate(a...); }));
  m.def("verify", asked([](auto&&... a) { return tilescope::verify(a...); }));
  m.def("explain", asked([](auto&&... a) { return tilescope::explain(a...); }));
  m.def("sweep", [](const std::string& file, const std::string& store, const py::dict& given, const Tell& tell) {
    keep_freed_memory();
    Options options = options_of(given);
    options.progress(tell);
    std::vector<Message> notes;
    const std::int64_t computed = [&] {
      const py::gil_scoped_release unlocked;
      return tilescope::sweep(file, store, options, &notes);
    }();
    return std::make_pair(computed, as_tuples(notes));
  });
  m.def("read", &tilescope::read, py::call_guard<py::gil_scoped_release>());
  m.def("devices", &tilescope::devices, py::call_guard<py::gil_scoped_release>());
  m.def("options", &Options::known, py::call_guard<py::gil_scoped_release>());
}
