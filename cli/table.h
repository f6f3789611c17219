#pragma once
// Tables for people on stdout.

#include <memory>
#include <string>
#include <vector>

struct libscols_table;

namespace tilescope::cli {

struct Column {
  std::string title;
  bool right = false;  // numbers
};

class Table {
 public:
  explicit Table(const std::vector<Column>& columns);

  // One row; cells beyond the columns are a bug.
  void add(const std::vector<std::string>& cells);
  void print() const;

 private:
  struct Deleter {
    void operator()(libscols_table* t) const;
  };
  std::unique_ptr<libscols_table, Deleter> table_;
  std::size_t columns_;
};

// Times and ratios in three digits, with the unit that keeps them readable: "12.3 us", "4.56 ms".
std::string time_text(double us);
// "1.1 to 1.4 ms", "980 us to 1.02 ms".
std::string times_text(double low_us, double high_us);
// "12.3 %", of what has no sign.
std::string share_text(double ratio);
// "+12 %", "-3.4 %".
std::string percent_text(double ratio);

}  // namespace tilescope::cli
