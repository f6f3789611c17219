#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The slow tests of ctest, tests/slow_tests.txt, of which a check runs an eighth.

    tools/slow_tests.py draw SEED      prints the regular expression of the tests that SEED does not draw
    tools/slow_tests.py record BUILD   writes the list from the times of BUILD's runs of ctest
"""
import json
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests/slow_tests.txt"
LISTED_SECONDS = 4
SHARE = 8


def slow_lines():
    """Seconds and name of each."""
    return [line.split(maxsplit=1) for line in LIST.read_text().splitlines() if not line.startswith("#")]


def slow_tests():
    return [name for _, name in slow_lines()]


def drawn(seed):
    names = slow_tests()
    return sorted(random.Random(seed).sample(names, -(-len(names) // SHARE)))


def left_out(seed):
    """What ctest --exclude-regex takes."""
    names = [re.escape(name) for name in slow_tests() if name not in drawn(seed)]
    return f"^({'|'.join(names)})$"


def tests_of(build):
    """The labels of every test of the build, by name."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    return {test["name"]: {label for item in test.get("properties", []) if item["name"] == "LABELS" for label in item["value"]}
            for test in json.loads(shown.stdout)["tests"]}


def record(build):
    """A test of label docs is a step of its own in a check, and is not listed. One that was skipped keeps its line."""
    labels = tests_of(build)
    lines = (Path(build) / "Testing/Temporary/CTestCostData.txt").read_text().split("---")[0].splitlines()
    known = {name: float(seconds) for seconds, name in slow_lines()}
    times = [(float(seconds) or known.get(name, 0.0), name) for name, _, seconds in (line.rsplit(maxsplit=2) for line in lines)
             if "docs" not in labels.get(name, {"docs"})]
    slow = sorted((row for row in times if row[0] >= LISTED_SECONDS), reverse=True)
    LIST.write_text(f"# Seconds and names of tests that take {LISTED_SECONDS} s and more: tools/slow_tests.py reads and records them.\n"
                    + "".join(f"{seconds:.1f} {name}\n" for seconds, name in slow))


if __name__ == "__main__":
    verb, argument = sys.argv[1:]
    if verb == "record":
        record(argument)
    else:
        runs = drawn(argument)
        print(f"slow tests: TILESCOPE_TEST_SEED={argument} draws {', '.join(runs)};"
              f" {len(slow_tests()) - len(runs)} are left to ./dev check --whole", file=sys.stderr)
        print(left_out(argument))
