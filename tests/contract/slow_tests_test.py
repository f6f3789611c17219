#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The slow tests are tests of the build, and every check runs an eighth of them: slow_tests_test.py BUILD"""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import slow_tests  # noqa: E402

BUILD = sys.argv.pop()


class SlowTestsTest(unittest.TestCase):
    def test_every_name_is_a_test(self):
        names, tests = slow_tests.slow_tests(), slow_tests.tests_of(BUILD)
        self.assertEqual([name for name in names if name not in tests], [])
        self.assertEqual(len(set(names)), len(names))

    def test_a_check_leaves_out_all_but_those_drawn(self):
        tests = slow_tests.tests_of(BUILD)
        left_out = re.compile(slow_tests.left_out("7"))
        run = {name for name in tests if not left_out.search(name)}
        names, drawn = set(slow_tests.slow_tests()), slow_tests.drawn("7")
        self.assertEqual(len(tests) - len(run), len(names) - len(drawn))
        self.assertEqual(sorted(run & names), drawn)
        self.assertEqual(len(drawn), (len(names) + 7) // 8)

    def test_a_seed_draws_the_same_and_seeds_draw_all(self):
        self.assertEqual(slow_tests.drawn("7"), slow_tests.drawn("7"))
        self.assertEqual({name for seed in range(100) for name in slow_tests.drawn(str(seed))}, set(slow_tests.slow_tests()))


if __name__ == "__main__":
    unittest.main()
