#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the longest classes of the product: lines in all their files, and functions.

    tools/longest_classes.py [--most N] [--check] [FOLDER...]

A class's lines are those of its definition and of its members that are defined outside of it; its functions are the
names that have a body or a declaration in it, each once. The text is read as clang-format writes it: a definition at
the margin of its file ends with a brace at that margin. What a source file defines is its own: another file's class of
that name is another one. --check fails where a class exceeds LIMITS, which do not rise: a class that grows beyond them is
parted into classes that can be tested alone.
"""

import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("base arch expr graph tile lower energy model construct sim backends targets api experiments import cli "
           "library platform").split()
LIMITS = {"lines": 400, "functions": 25}
BEGIN = re.compile(r"^( *)(?:class|struct) (?:\w+\([^)]*\) )?(\w+)(?: final)?(?: *:[^;{]*)? *\{")
NAMESPACE = re.compile(r"^namespace tilescope::([\w:]+) \{")  # two of one name in two of these are two classes
OUTSIDE = re.compile(r"^(?!\s|//|#|namespace|using|class|struct|enum).*?\b(\w+)::(?:\w+::)*(~?\w+|operator\W+)\(")
# A member function: a name before a parenthesis that no operator precedes, of a line that is not a statement.
MEMBER = re.compile(r"(?:^|[\s&*>~])(~?\w+|operator[^\w\s(]+|operator\(\))\(")
NO_FUNCTION = {"if", "for", "while", "switch", "return", "sizeof", "decltype", "static_assert", "alignas", "requires",
               "explicit", "noexcept", "catch", "operator"}


def end_of(lines, begin, margin):
    """The line behind the definition that begins there."""
    if lines[begin].rstrip().endswith(("}", "};")) and "{" in lines[begin]:
        return begin + 1
    for n in range(begin + 1, len(lines)):
        if re.match(rf"^ {{{margin}}}\}}", lines[n]):
            return n + 1
    return len(lines)


def of(path, library):
    return str(path) if path.suffix == ".cc" else library


def classes(folders):
    lengths, functions, files = collections.Counter(), collections.defaultdict(set), collections.defaultdict(set)
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            lines = path.read_text().splitlines()
            where = str(path.relative_to(ROOT))
            library = next((m.group(1) for line in lines if (m := NAMESPACE.match(line))), where.split("/")[0])
            for n, line in enumerate(lines):
                if begin := BEGIN.match(line):
                    margin, name = len(begin.group(1)), (of(path, library), begin.group(2))
                    end = end_of(lines, n, margin)
                    lengths[name] += end - n
                    files[name].add(where)
                    for inner in lines[n + 1:end - 1]:
                        code = inner.split("//")[0]
                        # Members stand one level in; what is deeper is a body.
                        if re.match(rf"^ {{{margin + 2}}}\S", code) and (f := MEMBER.search(code)):
                            if f.group(1) not in NO_FUNCTION and "=" not in code[:f.start()]:
                                functions[name].add(f.group(1))
                elif (member := OUTSIDE.match(line)) and not line.rstrip().endswith(";"):
                    name = (of(path, library), member.group(1))
                    if name not in files:
                        name = (library, member.group(1))
                    lengths[name] += end_of(lines, n, 0) - n
                    functions[name].add(member.group(2))
                    files[name].add(where)
    return [(lengths[n], len(functions[n]), n[1], sorted(files[n])) for n in lengths]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10, help="classes to print (10)")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    options = parser.parse_args()
    found = sorted(classes(options.folders), reverse=True)
    print("lines  functions  files  class")
    for lines, functions, name, files in found[:options.most]:
        print(f"{lines:5}  {functions:9}  {len(files):5}  {name} ({files[0]})")
    if not options.check:
        return 0
    over = [f for f in found if f[0] > LIMITS["lines"] or f[1] > LIMITS["functions"]]
    for lines, functions, name, files in over:
        print(f"{files[0]}: {name} has {lines} lines and {functions} functions; at most {LIMITS['lines']} and "
              f"{LIMITS['functions']}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
