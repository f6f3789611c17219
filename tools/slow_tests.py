#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The slowest tests of ctest, tests/slow_tests.txt, of which a check runs five.

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
LISTED = 20
DRAWN = 5


def slow_tests():
    """Their names; a line holds seconds and name."""
    return [line.split(maxsplit=1)[1] for line in LIST.read_text().splitlines() if not line.startswith("#")]


def drawn(seed):
    return sorted(random.Random(seed).sample(slow_tests(), DRAWN))


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
    """A test of label docs is a step of its own in a check, and is not listed."""
    labels = tests_of(build)
    lines = (Path(build) / "Testing/Temporary/CTestCostData.txt").read_text().split("---")[0].splitlines()
    times = [(float(seconds), name) for name, _, seconds in (line.rsplit(maxsplit=2) for line in lines)
             if "docs" not in labels.get(name, {"docs"})]
    slowest = sorted(times, reverse=True)[:LISTED]
    LIST.write_text("# Seconds and names of the slowest tests, which tools/slow_tests.py reads and its verb record writes.\n"
                    + "".join(f"{seconds:.1f} {name}\n" for seconds, name in slowest))


if __name__ == "__main__":
    verb, argument = sys.argv[1:]
    if verb == "record":
        record(argument)
    else:
        print(f"slow tests: TILESCOPE_TEST_SEED={argument} draws {', '.join(drawn(argument))};"
              f" {LISTED - DRAWN} are left to ./dev check --whole", file=sys.stderr)
        print(left_out(argument))
