#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/mutants.py changes, in sources of its own and in the tree."""
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import mutants  # noqa: E402


class MutantsTest(unittest.TestCase):
    def test_a_change_is_of_one_place(self):
        text = "int f(int a) {\n  return a + 1 < 2 * a;\n}\n"
        place = ("f.cc", 2, 10, " + ", " - ")
        self.assertEqual(mutants.changed(text, place), "int f(int a) {\n  return a - 1 < 2 * a;\n}\n")

    def test_a_source_that_has_changed_since_is_refused(self):
        with self.assertRaises(AssertionError):
            mutants.changed("return a - 1;\n", ("f.cc", 1, 8, " + ", " - "))

    def test_places_are_code_and_every_one_can_be_changed(self):
        texts = {}
        for place in mutants.places("sim/memory"):
            path = place[0]
            text = texts.setdefault(path, (ROOT / path).read_text())
            line = text.splitlines()[place[1] - 1]
            self.assertFalse(line.lstrip().startswith(("//", "#")), line)
            self.assertNotEqual(mutants.changed(text, place), text)
        self.assertGreater(len(texts), 5)

    def test_a_seed_draws_the_same_places(self):
        first = mutants.drawn(20, 7, ["model", "lower"])
        self.assertEqual(first, mutants.drawn(20, 7, ["model", "lower"]))
        self.assertNotEqual(first, mutants.drawn(20, 8, ["model", "lower"]))
        self.assertEqual(len(set(first)), 20)

    def test_every_folder_has_its_tests(self):
        for folder, tests in mutants.FOLDERS.items():
            self.assertEqual(mutants.owner_of(f"{folder}/a/b.cc"), folder)
            self.assertTrue(tests)


if __name__ == "__main__":
    unittest.main()
