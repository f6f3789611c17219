#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Claims and known gaps, each with the command that shows it: python3 tools/claims.py [options] [NAME...]

docs/claims.yaml holds them; docs/claims.md and a table of README.md are rendered from it. Without NAME every row is
run, else those named. A row is written when its command has ended, so that nothing is lost when a run is killed.

Keys of a row, in this order:
  name      how `./dev claims NAME` calls it
  gap       true: a known gap
  claim     one sentence, without the value
  readme    the sentence of README.md's table, where the claim stands in it
  command   run by bash from the root; its stdout and stderr count together
  exact     true: the value is the same on every machine. Any other value is a time, and the machine's speed is recorded
  slow      true: more than ten seconds or so of CPU time; the check leaves it out
  status    the exit statuses that count as done, where they are not 0 alone
  unless    a pattern: where the output has it the command showed nothing (data missing, tests skipped)
  read      patterns (one, or a list); their groups are the value's parts, {0}, {1} and so on
  form      the value with its parts, where it is not the parts with commas between them
  agree     relative difference below which two numbers are the same value (0: equal texts)
  aim       what the value should be; `<= N` and `>= N` are compared with the value's first number
  sources   the files that the value depends on: paths, folders, patterns, and names of `groups`
  value, commit, date    what was found, the commit that was checked out (+: sources differ from it), the day
  roofline  the machine's speed then: what the command `roofline` of docs/claims.yaml found
  seconds   how long the command took
  hash      of the names and contents of the sources then
  failed    why the last run gave no value; the value before it is kept

A row is stale where its last run failed, or where its sources are no longer those of `hash`.

--list            names, seconds of the last run, and what is stale
--check           compares docs/claims.md and README.md with what docs/claims.yaml renders to; stale marks do not count
--check --run     also runs the exact rows that are not slow and compares their values; records nothing
--render          only rewrites docs/claims.md and the table of README.md
--build DIR       the build folder that stands for `build/` in commands
--root DIR        another tree
"""
import argparse
import datetime
import fnmatch
import hashlib
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

try:
    import yaml
except ImportError:  # the package is of Debian's Python, which another may stand before
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

TIMEOUT_SECONDS = 3600
KEYS = ["name", "gap", "claim", "readme", "command", "exact", "slow", "status", "unless", "read", "form", "agree",
        "aim", "sources", "value", "commit", "date", "roofline", "seconds", "hash", "failed"]
NEEDED = ["name", "claim", "command", "sources", "value", "commit", "date"]
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d[\d,]*\.?\d*|\.\d+)")
STALE = " **stale**"
HEAD = """<!-- Rendered from claims.yaml by ./dev claims; do not edit. -->
# Claims and known gaps

`./dev claims NAME` runs a row's command of [claims.yaml](claims.yaml) and records value, commit and date.
exact: the same on every machine; `./dev check` compares it, but for slow rows.
roofline: a time is of a machine with this speed of the benchmark `Roofline`, whose code does not change.
**stale**: what the value depends on has changed since. *missed*: the value misses its aim.
"""
README_FIRST = "<!-- claims: this table is rendered by ./dev claims -->"
README_LAST = "<!-- end of claims -->"


class Wrong(Exception):
    """Something in the table that its writer has to mend."""


class Flow(list):
    """A list that is written on one line."""


yaml.SafeDumper.add_representer(
    Flow, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True))


# --- the table

def read_table(path):
    """The text above the rows, which is kept, the whole document, and its rows."""
    text = path.read_text()
    document = yaml.safe_load(text)
    above, mark, _ = text.partition("\nclaims:\n")
    if not mark or not isinstance(document.get("claims"), list):
        raise Wrong(f"{path.name}: expected a list of rows under 'claims:'")
    seen = set()
    for n, row in enumerate(document["claims"], 1):
        name = row.get("name", f"row {n}")
        for key in ("value", "commit", "date", "hash"):
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
    return above + mark, document


def patterns(value):
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def write_whole(path, text):
    """The file as it was or as it becomes, never a part of it."""
    aside = path.with_name(path.name + ".new")
    aside.write_text(text)
    os.replace(aside, path)


def dumped(above, rows):
    def ordered(row):
        return {key: Flow(row[key]) if key in ("status", "sources") else row[key] for key in KEYS if key in row}

    return above + "\n".join(
        yaml.safe_dump([ordered(row)], sort_keys=False, width=116, allow_unicode=True) for row in rows)


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


def is_checked(row):
    """Whether the check runs it."""
    return bool(row.get("exact")) and not row.get("slow")


# --- what a value depends on

class Sources:
    """The files of the tree, as git lists them, and what the sources of a row are."""

    def __init__(self, root, groups):
        self.root = root
        self.groups = groups
        listed = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = listed.split("\0") if listed else (str(path.relative_to(root)) for path in root.rglob("*"))
        self.files = sorted({name for name in names if name and (root / name).is_file()})
        self.head = self.git("rev-parse", "--short=7", "HEAD").strip()
        self.changed = set(self.git("diff", "-z", "--name-only", "HEAD").split("\0"))
        self.changed.update(self.git("ls-files", "-z", "--others", "--exclude-standard").split("\0"))
        self.digests = {}

    def git(self, *arguments):
        done = subprocess.run(["git", *arguments], cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True)
        return done.stdout if done.returncode == 0 else ""

    def matching(self, named):
        found = set()
        for name in named:
            if name in self.groups:
                found.update(self.matching(self.groups[name]))
                continue
            files = [file for file in self.files
                     if file == name or file.startswith(name.rstrip("/") + "/") or fnmatch.fnmatchcase(file, name)]
            if not files:
                raise Wrong(f"claims.yaml: no file is '{name}', which a row's sources name")
            found.update(files)
        return sorted(found)

    def digest(self, file):
        if file not in self.digests:
            self.digests[file] = hashlib.sha256((self.root / file).read_bytes()).hexdigest()
        return self.digests[file]

    def hash(self, named):
        lines = "".join(f"{self.digest(file)} {file}\n" for file in self.matching(named))
        return hashlib.sha256(lines.encode()).hexdigest()[:12]

    def commit(self, named):
        """What a row that is run now records."""
        return (self.head or "none") + ("+" if self.changed.intersection(self.matching(named)) else "")


# --- docs/claims.md and README.md

def cell(text):
    return str(text).replace("|", "\\|")


def roofline_of(row):
    return f"roofline {row['roofline']}" if "roofline" in row else ""


class Claims:
    def __init__(self, root, build=None):
        self.root = root
        self.build = build
        self.table = root / "docs/claims.yaml"
        self.page = root / "docs/claims.md"
        self.readme = root / "README.md"
        self.above, self.document = read_table(self.table)
        self.rows = self.document["claims"]
        self.sources = Sources(root, self.document.get("groups", {}))
        self.workers = ThreadPoolExecutor(os.cpu_count())
        self.outputs = {}
        self.speed = None

    def is_stale(self, row):
        return "failed" in row or row.get("hash") != self.sources.hash(row["sources"])

    # --- what is rendered

    def rendered(self):
        lines = [HEAD]
        for title, gap in (("Claims", False), ("Known gaps", True)):
            lines += [f"## {title}", "", "|name|claim|value|aim|measured|", "|---|---|---|---|---|"]
            for row in self.rows:
                if bool(row.get("gap")) != gap:
                    continue
                how = ", ".join(filter(None, ["exact" if row.get("exact") else roofline_of(row),
                                              "slow" if row.get("slow") else ""]))
                mark = STALE if "failed" in row or (not is_checked(row) and self.is_stale(row)) else ""
                aim = row.get("aim", "") + (" *missed*" if missed(row) else "")
                measured = f"{row['date']} {row['commit']}{', ' if how else ''}{how}{mark}"
                lines.append("|" + "|".join([row["name"], cell(row["claim"]), cell(row["value"]), cell(aim),
                                             measured]) + "|")
            lines.append("")
        return "\n".join(lines)

    def readme_table(self):
        """The table of README.md, between its first line and its last."""
        lines = [README_FIRST, "| | | `./dev claims` |", "|---|---|---|"]
        for row in self.rows:
            if "readme" in row:
                speed = f" ({roofline_of(row)})" if "roofline" in row else ""
                lines.append(f"| {cell(row['readme'])} | {cell(row['value'])}{speed} | `{row['name']}` |")
        return "\n".join([*lines, README_LAST])

    def readme_rendered(self):
        """README.md with its table, or None where there is none to be had."""
        if not any("readme" in row for row in self.rows):
            return None
        text = self.readme.read_text() if self.readme.exists() else ""
        start, end = text.find(README_FIRST), text.find(README_LAST)
        if start < 0 or end < start:
            raise Wrong(f"README.md: lacks the lines '{README_FIRST}' and '{README_LAST}'")
        return text[:start] + self.readme_table() + text[end + len(README_LAST):]

    def save(self):
        write_whole(self.table, dumped(self.above, self.rows))
        self.render()

    def render(self):
        write_whole(self.page, self.rendered())
        readme = self.readme_rendered()
        if readme is not None and readme != self.readme.read_text():
            write_whole(self.readme, readme)

    def problems(self):
        """What the documents have otherwise than docs/claims.yaml; stale marks are those of the last rendering."""
        return [*self.differences(self.page, self.rendered()), *self.differences(self.readme, self.readme_rendered())]

    def differences(self, path, rendered):
        if rendered is None:
            return
        wanted = rendered.replace(STALE, "").splitlines()
        there = (path.read_text() if path.exists() else "").replace(STALE, "").splitlines()
        for n in range(max(len(wanted), len(there))):
            pair = [lines[n] if n < len(lines) else None for lines in (wanted, there)]
            if pair[0] != pair[1]:
                shown, expected = ("the end" if side is None else repr(side) for side in reversed(pair))
                yield (f"{path.relative_to(self.root)}:{n + 1}: is not what claims.yaml renders to; run ./dev claims "
                       f"--render\n  there:    {shown}\n  expected: {expected}")
                return

    # --- what is run

    def chosen(self, names):
        known = {row["name"]: row for row in self.rows}
        for name in names:
            if name not in known:
                raise Wrong(f"no claim is called '{name}'; --list names them")
        return [known[name] for name in names] if names else self.rows

    def output_of(self, command):
        """Output, exit status (None where it did not end) and seconds of a command, which is run once."""
        if command not in self.outputs:
            self.outputs[command] = self.workers.submit(self.execute, command)
        return self.outputs[command].result()

    def execute(self, command):
        text = command
        if self.build:
            text = re.sub(r"(?<![\w/])(?:\./)?build(?=[/\s]|$)", lambda _: str(self.build), command)
        start = time.monotonic()
        try:
            done = subprocess.run(["bash", "-c", text], cwd=self.root, stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                                  timeout=TIMEOUT_SECONDS)
            output, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired:
            output, status = "", None
        return output, status, round(time.monotonic() - start, 1)

    def start(self, rows):
        """Runs the rows' commands, as many at once as there are cores: for values that are no times."""
        for command in dict.fromkeys(row["command"] for row in rows):
            self.outputs[command] = self.workers.submit(self.execute, command)

    def found(self, row):
        """The value that the row's command shows now, or None and why there is none; whether that is by `unless`."""
        output, status, _ = self.output_of(row["command"])
        for pattern in patterns(row.get("unless")):
            there = re.search(pattern, output, re.MULTILINE)
            if there:
                return None, f"the output has '{there.group(0)}'", True
        if status is None:
            return None, f"not done after {TIMEOUT_SECONDS} s", False
        if status not in row.get("status", [0]):
            return None, f"exit status {status}", False
        try:
            return value_of(row, output), None, False
        except (LookupError, IndexError) as error:
            return None, str(error), False

    def machine_speed(self):
        """What the benchmark of docs/claims.yaml says of this machine, or None and why it says nothing."""
        if self.speed is None:
            bench = self.document.get("roofline")
            self.speed = self.found(bench)[:2] if bench else (None, "claims.yaml has no 'roofline'")
        return self.speed

    def run(self, row):
        """Runs one row and records what it found; returns a line about it and whether the value is as it was."""
        now, why, _ = self.found(row)
        speed = None
        if now is not None and not row.get("exact"):
            speed, why = self.machine_speed()
            if speed is None:
                now, why = None, f"the machine's speed is unknown: {why}"
        row["seconds"] = self.output_of(row["command"])[2]
        today = datetime.date.today().isoformat()
        if now is None:
            row["failed"] = f"{today}: {why}"
            return f"FAILED: {why}; {row['value']} is kept", False
        before, same = row["value"], agrees(row["value"], now, row.get("agree", 0))
        for key in ("failed", "roofline"):
            row.pop(key, None)
        row.update(value=now, commit=self.sources.commit(row["sources"]), date=today,
                   hash=self.sources.hash(row["sources"]))
        if speed is not None:
            row["roofline"] = speed
        return (now if same else f"CHANGED: {now}, was {before}"), same

    def compare(self, row):
        """Runs one row and records nothing; returns a line about it and whether it may stand as it is."""
        now, why, left_out = self.found(row)
        if left_out:
            return f"left out: {why}", True
        if now is None:
            return f"FAILED: {why}", False
        if now == row["value"]:
            return now, True
        return f"DIFFERS: {now}, recorded {row['value']}; ./dev claims {row['name']} records it", False


# --- the command line

def listed(claims):
    for row in claims.rows:
        took = f"{row['seconds']:8.1f} s" if "seconds" in row else "   not run"
        marks = [key for key in ("exact", "slow", "gap") if row.get(key)]
        marks += [mark for mark, there in (("stale", claims.is_stale(row)), ("missed", missed(row))) if there]
        print(f"{row['name']:22} {took}  {' '.join(marks)}".rstrip())


def run_each(claims, rows, act, done=lambda: None):
    """Prints a line a row; whether all are well."""
    well = True
    for row in rows:
        print(f"{row['name']:22} ", end="", flush=True)
        line, good = act(row)
        well &= good
        done()
        print(f"{claims.output_of(row['command'])[2]:7.1f} s  {line}", flush=True)
    return well


def checked(claims, with_run):
    problems = claims.problems()
    for problem in problems:
        print(problem)
    well = not problems
    if with_run:
        rows = [row for row in claims.rows if is_checked(row)]
        claims.start(rows)
        well &= run_each(claims, rows, claims.compare)
    stale = [row["name"] for row in claims.rows if claims.is_stale(row)]
    named = f": {' '.join(stale)}" if stale else ""
    print(f"claims: {'ok' if well else 'not as recorded'}, {len(claims.rows)} rows, {len(stale)} stale{named}")
    return 0 if well else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], usage="./dev claims [options] [NAME...]")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="names, seconds, what is stale")
    parser.add_argument("--check", action="store_true", help="the documents are what docs/claims.yaml renders to")
    parser.add_argument("--run", action="store_true", help="of --check: exact values are what their commands show")
    parser.add_argument("--render", action="store_true", help="rewrite docs/claims.md and README.md's table alone")
    parser.add_argument("--build", type=Path, help="the folder that stands for build/")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    options = parser.parse_args()
    try:
        claims = Claims(options.root.resolve(), options.build and options.build.resolve())
        if options.list:
            listed(claims)
            return 0
        if options.check:
            return checked(claims, options.run)
        if options.render:
            claims.render()
            return 0
        return 0 if run_each(claims, claims.chosen(options.names), claims.run, claims.save) else 1
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
