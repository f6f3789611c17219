#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README, docs/ and sources, their messages too, say who acts."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORDS = re.compile(r"\b(nobody|somebody|whoever)\b", re.IGNORECASE)
FOLDERS = "base arch energy expr tile lower model construct sim backends targets experiments cli platform include import".split()


class WordsTest(unittest.TestCase):
    def test_the_actor_is_named(self):
        files = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]
        for folder in FOLDERS:
            files += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cc")]
        found = [f"{path.relative_to(ROOT)}:{number}: {line.strip()}" for path in files
                 for number, line in enumerate(path.read_text().splitlines(), 1) if WORDS.search(line)]
        self.assertEqual(found, [])
        self.assertGreater(len(files), 200)


if __name__ == "__main__":
    unittest.main()
