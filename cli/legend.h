// SPDX-License-Identifier: Apache-2.0
#pragma once
// --legend: the meaning of the columns of tables and of the shorthand of layouts, in words.

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace tilescope::cli {

// Adds --legend to a command that prints tables.
void add_legend(CLI::App& command, bool& legend);

// Prints, below the tables of a command, the meaning of the columns and the shorthand that they had. Prints nothing
// unless `asked`.
void print_legend(bool asked);

// Prints the meaning of the columns of the file that `network --table` writes. Prints nothing unless `asked`.
void print_network_table_legend(bool asked);

// Prints the meaning of every column and of all shorthand.
void print_whole_legend();

}  // namespace tilescope::cli
