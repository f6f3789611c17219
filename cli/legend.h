// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the columns of tables and the shorthand of layouts mean, in words: --legend.

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace tilescope::cli {

// Adds --legend to a command that prints tables.
void add_legend(CLI::App& command, bool& legend);

// The meaning of a column by its title; empty of columns that a chip or a sweep names.
std::string_view meaning_of(std::string_view title);

// Below the tables of a command: the columns that they had, and what stands in them as shorthand. Nothing where the
// command was not asked for it.
void print_legend(bool asked);

// Every column there is, and all shorthand.
void print_whole_legend();

}  // namespace tilescope::cli
