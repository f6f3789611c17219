#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the layering of the house against tools/layers.json: python3 tools/check_layers.py [ROOT]

The table is checked first: its rows have no cycle, and each of its lists names rows. A file belongs to the longest row
that it stands under; a name in a list is that row alone, and one with a * is a pattern of rows ("experiments/*").

A word of the table stands in its folders alone, and in tests. A header in a folder `detail` is its target's own: the
target's files include it, and tests/unit.

Includes are followed: what a file reaches through headers counts as included, libraries too, so that a library's
header in a public header of another folder is found. Prints one line per violation, with the chain; exit status 1.
Every C++ source begins with the line of its licence, but *.cuh, which emitted kernels begin with.

Ignores: preprocessor conditions (both branches count) and includes spelled by a macro (refused).
"""
import fnmatch
import json
import re
import sys
from collections import deque
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

CPP = {".h", ".hpp", ".cc", ".cpp", ".cu", ".cuh"}
LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
SIZED = CPP | {".py", ".sh", ".cmake", ".ts", ".css"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\b[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>|(.*))', re.M)
# Text that only looks like an include: emitted kernels in raw strings, block comments.
NOT_CODE = re.compile(r'R"([^()\s\\]{0,16})\(.*?\)\1"|/\*.*?\*/', re.S)


class Rules:
    def __init__(self, data):
        self.problems = []
        rows = data["folders"]
        self.folders = {name: self._rows_of(name, may, rows) for name, may in rows.items()}
        self.files = data["files"]
        self.libraries = {name: {**library, "folders": self._rows_of(name, library["folders"], rows)}
                          for name, library in data["libraries"].items()}
        self.words = {word: {**rule, "folders": self._rows_of(word, rule["folders"], rows)}
                      for word, rule in data["words"].items()}
        self.private = data["private"]
        self.standard = set(" ".join(data["standard"]).split())
        self.note_above = data["lines"]["note_above"]
        self.refuse_above = data["lines"]["refuse_above"]
        try:
            TopologicalSorter({name: may - {name} for name, may in self.folders.items()}).prepare()
        except CycleError as e:
            self.problems.append(f"tools/layers.json: folders in a cycle: {' -> '.join(reversed(e.args[1]))}")

    def _rows_of(self, name, patterns, rows):
        """The rows that a list names."""
        matched = {pattern: fnmatch.filter(rows, pattern) for pattern in patterns}
        self.problems += [f"tools/layers.json: {name}: no row '{p}'" for p, found in matched.items() if not found]
        return {row for found in matched.values() for row in found}

    def folder_of(self, path):
        """The longest row of the table that the file stands under, or None."""
        parts = path.split("/")[:-1]
        for n in range(len(parts), 0, -1):
            if "/".join(parts[:n]) in self.folders:
                return "/".join(parts[:n])
        return None

    def is_hidden(self, path, target):
        """Whether a header is private to another target than the file's."""
        tests = self.private["tests"] + "/"
        return self.private["folder"] in target.split("/") and not path.startswith(tests) and \
            target_of(path) != target_of(target)

    def may_include(self, path, target):
        if self.is_hidden(path, target):
            return False
        if path in self.files:
            return path == target or target in self.files[path] or self.folder_of(target) in self.files[path]
        own, other = self.folder_of(path), self.folder_of(target)
        return own == other or other in self.folders[own]

    def library_of(self, header):
        for name, library in self.libraries.items():
            if any(fnmatch.fnmatchcase(header, pattern) for pattern in library["headers"]):
                return name
        return None

    def may_use(self, path, library):
        users = self.libraries[library]["folders"]
        folder = self.folder_of(path)
        return folder == "tests" or folder in users


class Tree:
    """The sources of a tree and what they include, problems of single lines already reported."""

    def __init__(self, root, rules):
        self.root, self.rules = root, rules
        self.problems, self.notes = [], []
        self.local, self.libraries = {}, {}  # path -> [(line, target)]
        files = sorted(path for path in self.files(root) if path.suffix in SIZED or path.name == "dev")
        self.cpp = {str(path.relative_to(root)) for path in files if path.suffix in CPP}
        for path in files:
            self._check_size(path)
        for path in sorted(self.cpp):
            if rules.folder_of(path) is None:
                self.problems.append(f"{path}:1: no row of tools/layers.json covers this folder")
            else:
                self._read_includes(path)

    @staticmethod
    def files(folder):
        for path in folder.iterdir():
            if path.is_file():
                yield path
            elif path.is_dir() and not re.match(r"\.|build$|build-|node_modules$", path.name):
                yield from Tree.files(path)

    def _check_size(self, path):
        lines = path.read_bytes().count(b"\n")
        where = f"{path.relative_to(self.root)}: {lines} lines"
        if lines > self.rules.refuse_above:
            self.problems.append(f"{where}; more than {self.rules.refuse_above} are refused: split it")
        elif lines > self.rules.note_above:
            self.notes.append(f"{where}; more than {self.rules.note_above} earn a look")

    def _read_includes(self, path):
        self.local[path], self.libraries[path] = [], []
        text = (self.root / path).read_text(encoding="utf-8", errors="replace")
        code = NOT_CODE.sub(lambda match: "\n" * match.group().count("\n"), text)
        self._check_words(path, code)
        for match in INCLUDE.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            quoted, angled, other = match.groups()
            if quoted is not None:
                self._add_local(path, line, quoted)
            elif angled is not None:
                self._add_library(path, line, angled)
            else:
                self.problems.append(f"{path}:{line}: include of '{other.strip()}': neither \"...\" nor <...>")

    def _check_words(self, path, code):
        folder = self.rules.folder_of(path)
        for word, rule in self.rules.words.items():
            if word in code and folder != "tests" and folder not in rule["folders"]:
                line = code.count("\n", 0, code.index(word)) + 1
                self.problems.append(f"{path}:{line}: {folder} may not say {word}: {rule['else']}")

    def _add_local(self, path, line, target):
        if ".." in target.split("/"):
            self.problems.append(f'{path}:{line}: "{target}": includes are written from the root, without ..')
        elif target not in self.cpp:
            self.problems.append(f'{path}:{line}: "{target}": no such file from the root')
        else:
            self.local[path].append((line, target))

    def _add_library(self, path, line, header):
        library = self.rules.library_of(header)
        if library is not None:
            self.libraries[path].append((line, library))
        elif header not in self.rules.standard:
            self.problems.append(f"{path}:{line}: <{header}>: neither standard nor in tools/layers.json")


def target_of(path):
    """The folder of the library that a file is part of."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in ("backends", "experiments") else parts[0]


def chains(tree, start):
    """The shortest chain of includes from `start` to every header it reaches: target -> [start, ..., target].

    A header that `start` may not include is not looked into: what it brings along is the same mistake.
    """
    found, todo = {start: [start]}, deque([start])
    while todo:
        path = todo.popleft()
        for _, target in tree.local.get(path, []):
            if target not in found:
                found[target] = found[path] + [target]
                if tree.rules.folder_of(target) and tree.rules.may_include(start, target):
                    todo.append(target)
    return found


def line_of(tree, path, target):
    return next(line for line, to in tree.local[path] if to == target)


def forbidden_reaches(tree, path):
    """Violations of one file. One that a file further down the chain commits as well is reported there alone."""
    rules, seen = tree.rules, set()
    for target, chain in chains(tree, path).items():
        below = [step for step in chain[1:] if rules.folder_of(step)]
        folder = rules.folder_of(target)
        line = line_of(tree, path, chain[1]) if len(chain) > 1 else 0
        if folder and not rules.may_include(path, target):
            if folder not in seen and all(rules.may_include(step, target) for step in below):
                seen.add(folder)
                yield f"{path}:{line}: {own_name(rules, path)} may not include {folder}: {' -> '.join(chain)}"
            continue
        for here, library in tree.libraries.get(target, []):
            if not rules.may_use(path, library) and library not in seen:
                if all(rules.may_use(step, library) for step in below):
                    seen.add(library)
                    shown = " -> ".join([*chain, library])
                    yield f"{path}:{line or here}: {rules.folder_of(path)} may not use {library}: {shown}"


def own_name(rules, path):
    return path if path in rules.files else rules.folder_of(path)


def check(root, rules):
    """(problems, notes) of a tree, those of the table first."""
    tree = Tree(root, rules)
    for path in sorted(tree.local):
        tree.problems.extend(forbidden_reaches(tree, path))
    return rules.problems + tree.problems, tree.notes


def unlicensed(root):
    """Problems of a tree's C++ sources that do not say their licence."""
    return [f"{path.relative_to(root)}:1: the first line is not {LICENCE.strip()}"
            for path in sorted(Tree.files(root)) if path.suffix in CPP - {".cuh"}
            and not path.read_text(encoding="utf-8", errors="replace").startswith(LICENCE)]


def main():
    here = Path(__file__).resolve().parent
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here.parent
    problems, notes = check(root, Rules(json.loads((here / "layers.json").read_text())))
    problems += unlicensed(root)
    for note in notes:
        print(f"note: {note}")
    for problem in problems:
        print(problem)
    print(f"layers: {len(problems)} violations" if problems else "layers: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
