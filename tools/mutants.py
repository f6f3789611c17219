#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes one operator or number of the product at a time, and says which changes no unit test notices.

    tools/mutants.py N [--seed S] [--folder model] [--list] [--keep FILE.jsonl] [--jobs J]

N places are drawn from the sources of FOLDERS. Each is changed in a copy of the tree (one of J, in build-mutants), the
folder's tests are built there and run until the first failure. A mutant that every test passes has survived: a test is
missing, or the change means nothing. Every result is appended to the kept file as it comes; a run that was killed goes
on where it stopped.
"""

import argparse
import filecmp
import json
import os
import pathlib
import queue
import random
import re
import shutil
import subprocess
import sys
from concurrent import futures

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORK = ROOT / "build-mutants"
# Sources, and the test programs that should notice their changes.
FOLDERS = {
    "model": ["model_test"],
    "model/bsp": ["model_test", "exchange_counts_test"],
    "lower/bsp": ["ipu_sim_test"],
    "lower": ["lower_test"],
    "sim/memory": ["sim_test"],
}
TEST_SECONDS = 300

# What stands in a line of code, and what it becomes.
CHANGES = [(r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" < ", " <= "), (r" <= ", " < "),
           (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "),
           (r"std::max\b", "std::min"), (r"std::min\b", "std::max"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
           (r"\bceil_div\(([^(),]+), ([^(),]+)\)", r"((\1) / (\2))"), (r"(?<![\w.])1(?![\w.])", "2"),
           (r"(?<![\w.])2(?![\w.])", "3")]
NOT_CODE = re.compile(r'^\s*(//|#|using |namespace |\}|template|static_assert)|"')


def owner_of(path):
    """The folder whose tests should notice a change of the file: the innermost."""
    return max((folder for folder in FOLDERS if path.startswith(folder + "/")), key=len)


def places(folder):
    """(file, line number, column, text, replacement) of every change that could be made in a folder."""
    for path in sorted((ROOT / folder).rglob("*.cc")):
        if owner_of(str(path.relative_to(ROOT))) != folder:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0]
            if NOT_CODE.search(code):
                continue
            for pattern, becomes in CHANGES:
                for found in re.finditer(pattern, code):
                    yield (str(path.relative_to(ROOT)), number, found.start(), found.group(0), found.expand(becomes))


def drawn(count, seed, folders):
    every = [place for folder in folders for place in places(folder)]
    random.Random(seed).shuffle(every)
    return every[:count]


def changed(text, place):
    _, number, column, before, after = place
    lines = text.splitlines(keepends=True)
    line = lines[number - 1]
    assert line[column:column + len(before)] == before, f"{place}: the source has changed"
    lines[number - 1] = line[:column] + after + line[column + len(before):]
    return "".join(lines)


def copy_tree(tree):
    """The files that git knows, as they are now; one that is equal keeps its time, so that nothing of it is built."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        source, copy = ROOT / name, tree / name
        if not source.exists() or (copy.exists() and filecmp.cmp(source, copy, shallow=False)):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)


class Worker:
    """A copy of the tree with a build of its own."""

    def __init__(self, number, threads):
        self.tree = WORK / str(number)
        self.build_dir = self.tree / "build"
        self.threads = str(threads)
        # A compiler cache takes what the copies share, for paths are relative to each.
        self.environment = {**os.environ, "CCACHE_BASEDIR": str(self.tree), "CCACHE_NOHASHDIR": "1"}

    def prepare(self, programs):
        copy_tree(self.tree)
        subprocess.run(["cmake", "--preset", "release"], cwd=self.tree, env=self.environment, check=True,
                       stdout=subprocess.DEVNULL)
        if not self.build(programs):
            sys.exit(f"{', '.join(programs)}: not built without changes")

    def build(self, programs):
        return subprocess.run(["cmake", "--build", self.build_dir, "--parallel", self.threads, "--target", *programs],
                              env=self.environment, capture_output=True).returncode == 0

    def notices(self, program):
        """Whether a test fails, or does not end."""
        binary = next(path for path in (self.build_dir / "tests").rglob(program) if path.is_file())
        try:
            done = subprocess.run([binary, "--gtest_fail_fast", "--gtest_brief=1"], cwd=binary.parent, timeout=TEST_SECONDS,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0

    def judged(self, place):
        path, programs = self.tree / place[0], FOLDERS[owner_of(place[0])]
        text = path.read_text()
        path.write_text(changed(text, place))
        try:
            if not self.build(programs):
                return "not built"
            return "noticed" if any(self.notices(program) for program in programs) else "survived"
        finally:
            path.write_text(text)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("count", type=int, metavar="N")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--folder", action="append", choices=list(FOLDERS))
    arguments.add_argument("--list", action="store_true", help="the places, without building anything")
    arguments.add_argument("--keep", type=pathlib.Path, default=WORK / "results.jsonl")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time, each in a tree of its own")
    options = arguments.parse_args()
    chosen = drawn(options.count, options.seed, options.folder or list(FOLDERS))
    print(f"{len(chosen)} mutants, seed {options.seed}")
    if options.list:
        for path, number, _, before, after in chosen:
            print(f"{path}:{number}: '{before.strip()}' -> '{after.strip()}'")
        return 0

    options.keep.parent.mkdir(parents=True, exist_ok=True)
    known = {}
    if options.keep.exists():
        rows = (json.loads(line) for line in options.keep.read_text().splitlines())
        known = {tuple(row["place"]): row["result"] for row in rows}
    programs = sorted({program for place in chosen for program in FOLDERS[owner_of(place[0])]})
    jobs = max(1, options.jobs)
    idle = queue.SimpleQueue()
    for number in range(jobs):
        worker = Worker(number, max(1, (os.cpu_count() or 1) // jobs))
        worker.prepare(programs)
        idle.put(worker)
    failing = [program for program in programs if worker.notices(program)]
    if failing:
        sys.exit(f"{', '.join(failing)}: fails without changes")

    def result_of(place):
        if tuple(place) in known:
            return known[tuple(place)]
        worker = idle.get()
        try:
            return worker.judged(place)
        finally:
            idle.put(worker)

    counts = {"noticed": 0, "survived": 0, "not built": 0}
    with futures.ThreadPoolExecutor(jobs) as pool, options.keep.open("a") as kept:
        judging = {pool.submit(result_of, place): place for place in chosen}
        for done, judged in enumerate(futures.as_completed(judging), 1):
            place, result = judging[judged], judged.result()
            if tuple(place) not in known:
                kept.write(json.dumps({"place": place, "result": result}) + "\n")
                kept.flush()
            counts[result] += 1
            path, number, _, before, after = place
            if result == "survived":
                print(f"survived: {path}:{number}: '{before.strip()}' -> '{after.strip()}'", flush=True)
            elif sys.stderr.isatty():
                print(f"\r{done} of {len(chosen)}", end="", file=sys.stderr)
    print(", ".join(f"{n} {result}" for result, n in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
