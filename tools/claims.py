#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Claims and known gaps, each with the command that shows it: python3 tools/claims.py [options] [NAME...]

docs/claims.yaml holds a row a claim, docs/claims.md is rendered from it. Without NAME every row that is not `slow` is
run; with NAMEs those, slow or not; with --all all of them. A row is written when its command has ended, so that nothing
is lost when a run is killed.

Keys of a row, in this order:
  name      how `./dev claims NAME` calls it
  gap       true: a known gap
  claim     one sentence, without the value
  command   run by bash from the root; its stdout and stderr count together
  slow      true: more than about two minutes of CPU time, run by name or --all alone
  status    the exit statuses that count as done, where they are not 0 alone
  unless    a pattern: where the output has it the command showed nothing (data missing, tests skipped)
  read      patterns (one, or a list); their groups are the value's parts, {0}, {1} and so on
  form      the value with its parts, where it is not the parts with commas between them
  agree     relative difference below which two numbers are the same value (0: equal texts)
  aim       what the value should be; `<= N` and `>= N` are compared with the value's first number
  value, commit, date    what was found, the last commit of the sources then, the day
  seconds   how long the command took
  failed    why the last run gave no value; the value before it is kept

A row is stale where its last run failed, or where the sources (SOURCES below) have changed since its commit.

--list            names, seconds of the last run, and what is stale
--check           only compares docs/claims.md with what docs/claims.yaml renders to; stale marks do not count
--render          only rewrites docs/claims.md
--build DIR       the build folder that stands for `build/` in commands
--root DIR        another tree
"""
import argparse
import datetime
import os
import re
import subprocess
import sys
import time
from pathlib import Path

try:
    import yaml
except ImportError:  # the package is of Debian's Python, which another may stand before
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

SOURCES = ["*.cc", "*.h", "*.cuh", "arch/devices", "expr/suites", ":!tests"]
TIMEOUT_SECONDS = 4 * 3600
KEYS = ["name", "gap", "claim", "command", "slow", "status", "unless", "read", "form", "agree", "aim", "value", "commit",
        "date", "seconds", "failed"]
NEEDED = ["name", "claim", "command", "value", "commit", "date"]
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d[\d,]*\.?\d*|\.\d+)")
STALE = " **stale**"
HEAD = """<!-- Rendered from claims.yaml by ./dev claims; do not edit. -->
# Claims and known gaps

[claims.yaml](claims.yaml) has each row's command. `./dev claims NAME` runs it and records value, commit and date.
`./dev claims` runs all quick rows, `--all` the slow ones too, `--list` names them.
**stale**: the sources have changed since, or the last run gave no value.
*missed*: the value is not what was aimed at.
"""


class Wrong(Exception):
    """Something in the table that its writer has to mend."""


# --- the table

def split_head(text):
    """The comment lines at the top, which are kept, and the rest."""
    lines = text.splitlines(keepends=True)
    n = 0
    while n < len(lines) and lines[n].startswith("#"):
        n += 1
    return "".join(lines[:n]), "".join(lines[n:])


def read_table(path):
    head, body = split_head(path.read_text())
    rows = yaml.safe_load(body)
    if not isinstance(rows, list):
        raise Wrong(f"{path.name}: expected a list of rows")
    seen = set()
    for n, row in enumerate(rows, 1):
        name = row.get("name", f"row {n}")
        for key in ("value", "commit", "date"):
            if key in row:
                row[key] = str(row[key])
        for key in row:
            if key not in KEYS:
                raise Wrong(f"{path.name}: {name}: unknown key '{key}'")
        for key in NEEDED:
            if key not in row:
                raise Wrong(f"{path.name}: {name}: lacks '{key}'")
        if name in seen:
            raise Wrong(f"{path.name}: {name}: there twice")
        seen.add(name)
        for pattern in patterns(row.get("read")) + patterns(row.get("unless")):
            try:
                re.compile(pattern)
            except re.error as error:
                raise Wrong(f"{path.name}: {name}: pattern '{pattern}': {error}") from error
    return head, rows


def patterns(value):
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def write_whole(path, text):
    """The file as it was or as it becomes, never a part of it."""
    aside = path.with_name(path.name + ".new")
    aside.write_text(text)
    os.replace(aside, path)


def dumped(head, rows):
    body = "\n".join(
        yaml.safe_dump([{key: row[key] for key in KEYS if key in row}], sort_keys=False, width=116, allow_unicode=True)
        for row in rows)
    return head + body


# --- values

def value_of(row, output):
    """The value that the row's patterns find in a command's output."""
    parts = []
    for pattern in patterns(row.get("read")):
        found = re.search(pattern, output, re.MULTILINE)
        if not found:
            raise LookupError(f"the output lacks '{pattern}'")
        parts += [re.sub(r"\s+", " ", part or "").strip() for part in found.groups()]
    if "form" in row:
        return row["form"].format(*parts)
    return ", ".join(parts) if parts else "shown"


def numbers(text):
    return [float(n.replace(",", "")) for n in NUMBER.findall(text)]


def agrees(before, now, tolerance):
    """Whether two values are the same, numbers within a relative difference."""
    if before == now or not tolerance:
        return before == now
    if NUMBER.sub("#", before) != NUMBER.sub("#", now):
        return False
    return all(abs(a - b) <= tolerance * max(abs(a), abs(b)) for a, b in zip(numbers(before), numbers(now)))


def missed(row):
    aim = re.match(r"(<=|>=)\s*([\d.]+)", row.get("aim", ""))
    found = numbers(row["value"])
    if not aim or not found:
        return False
    wanted = float(aim.group(2))
    return abs(found[0]) > wanted if aim.group(1) == "<=" else found[0] < wanted


# --- git

class History:
    """The last commit of the sources, and which commits are before it. Outside of git nothing is stale by commit."""

    def __init__(self, root):
        self.root = root
        self.changed = {}
        self.last = self.git("log", "-1", "--format=%h", "--abbrev=7", "--", *SOURCES)
        self.dirty = bool(self.git("status", "--porcelain", "--", *SOURCES))

    def git(self, *arguments):
        done = subprocess.run(["git", *arguments], cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    def now(self):
        """What a row that is run now records; a `+` says that the sources differ from that commit."""
        return (self.last or "none") + ("+" if self.dirty else "")

    def is_old(self, commit):
        commit = str(commit)
        if not self.last or commit == self.last:
            return False
        if commit not in self.changed:
            self.changed[commit] = commit.endswith("+") or self.git("rev-list", "--count", f"{commit}..HEAD", "--",
                                                                    *SOURCES) != "0"
        return self.changed[commit]


def is_stale(row, history):
    return "failed" in row or history.is_old(row["commit"])


# --- docs/claims.md

def cell(text):
    return str(text).replace("|", "\\|")


def rendered(rows, history):
    lines = [HEAD]
    for title, gap in (("Claims", False), ("Known gaps", True)):
        lines += [f"## {title}", "", "|name|claim|value|aim|measured|", "|---|---|---|---|---|"]
        for row in rows:
            if bool(row.get("gap")) != gap:
                continue
            mark = STALE if is_stale(row, history) else ""
            aim = row.get("aim", "") + (" *missed*" if missed(row) else "")
            lines.append("|" + "|".join([row["name"], cell(row["claim"]), cell(row["value"]), cell(aim),
                                         f"{row['date']} {row['commit']}{mark}"]) + "|")
        lines.append("")
    return "\n".join(lines)


class Claims:
    def __init__(self, root, build=None):
        self.root = root
        self.build = build
        self.table = root / "docs/claims.yaml"
        self.page = root / "docs/claims.md"
        self.history = History(root)
        self.head, self.rows = read_table(self.table)

    def save(self):
        write_whole(self.table, dumped(self.head, self.rows))
        self.render()

    def render(self):
        write_whole(self.page, rendered(self.rows, self.history))

    def problems(self):
        """What docs/claims.md has otherwise than docs/claims.yaml; stale marks are those of the last rendering."""
        wanted = rendered(self.rows, self.history).replace(STALE, "").splitlines()
        there = (self.page.read_text() if self.page.exists() else "").replace(STALE, "").splitlines()
        for n in range(max(len(wanted), len(there))):
            pair = [lines[n] if n < len(lines) else None for lines in (wanted, there)]
            if pair[0] != pair[1]:
                shown, expected = ("the end" if side is None else repr(side) for side in reversed(pair))
                return [f"docs/claims.md:{n + 1}: is not what claims.yaml renders to; run ./dev claims --render\n"
                        f"  there:    {shown}\n  expected: {expected}"]
        return []

    def chosen(self, names, everything):
        known = {row["name"]: row for row in self.rows}
        for name in names:
            if name not in known:
                raise Wrong(f"no claim is called '{name}'; --list names them")
        if names:
            return [known[name] for name in names]
        return [row for row in self.rows if everything or not row.get("slow")]

    def run(self, row):
        """Runs one row and records what it found; returns a line about it and whether the value is as it was."""
        command = row["command"]
        if self.build:
            command = re.sub(r"(?<![\w/])(?:\./)?build(?=[/\s]|$)", lambda _: str(self.build), command)
        start = time.monotonic()
        try:
            done = subprocess.run(["bash", "-c", command], cwd=self.root, stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                                  timeout=TIMEOUT_SECONDS)
            output, why = done.stdout, None
            if done.returncode not in row.get("status", [0]):
                why = f"exit status {done.returncode}"
            for pattern in patterns(row.get("unless")):
                found = re.search(pattern, output, re.MULTILINE)
                if found:
                    why = f"the output has '{found.group(0)}'"
        except subprocess.TimeoutExpired:
            output, why = "", f"not done after {TIMEOUT_SECONDS} s"
        row["seconds"] = round(time.monotonic() - start, 1)
        try:
            now = value_of(row, output) if why is None else None
        except (LookupError, IndexError) as error:
            now, why = None, str(error)
        today = datetime.date.today().isoformat()
        if now is None:
            row["failed"] = f"{today}: {why}"
            return f"FAILED: {why}; {row['value']} is kept", False
        before, same = row["value"], agrees(str(row["value"]), now, row.get("agree", 0))
        row.pop("failed", None)
        row.update(value=now, commit=self.history.now(), date=today)
        return (now if same else f"CHANGED: {now}, was {before}"), same


def listed(claims):
    for row in claims.rows:
        took = f"{row['seconds']:8.1f} s" if "seconds" in row else "   not run"
        marks = [mark for mark, there in (("slow", row.get("slow")), ("gap", row.get("gap")),
                                          ("stale", is_stale(row, claims.history)), ("missed", missed(row))) if there]
        print(f"{row['name']:22} {took}  {' '.join(marks)}".rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], usage="./dev claims [options] [NAME...]")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true", help="slow rows too")
    parser.add_argument("--list", action="store_true", help="names, seconds, what is stale")
    parser.add_argument("--check", action="store_true", help="docs/claims.md is what docs/claims.yaml renders to")
    parser.add_argument("--render", action="store_true", help="rewrite docs/claims.md alone")
    parser.add_argument("--build", type=Path, help="the folder that stands for build/")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    options = parser.parse_args()
    try:
        claims = Claims(options.root.resolve(), options.build and options.build.resolve())
        if options.list:
            listed(claims)
            return 0
        if options.check:
            problems = claims.problems()
            stale = sum(is_stale(row, claims.history) for row in claims.rows)
            for problem in problems:
                print(problem)
            print(f"claims: {len(problems)} problems" if problems else f"claims: ok, {len(claims.rows)} rows, {stale} stale")
            return 1 if problems else 0
        if options.render:
            claims.render()
            return 0
        all_same = True
        for row in claims.chosen(options.names, options.all):
            print(f"{row['name']:22} ", end="", flush=True)
            line, same = claims.run(row)
            all_same &= same
            claims.save()
            print(f"{row['seconds']:7.1f} s  {line}", flush=True)
        return 0 if all_same else 1
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
