#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants files that forget an include behind a precompiled header, which tools/check_includes.py must find."""
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.dont_write_bytecode = True
import check_includes  # noqa: E402

GOOD = "#include <vector>\ninline std::vector<int> some() { return {1}; }\n"
FORGETS = "inline std::vector<int> some() { return {1}; }\n"


class CheckIncludesTest(unittest.TestCase):
    def check(self, files):
        """The files of a tree whose sources are compiled with <vector> included before them."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            (root / "compile_commands.json").write_text(json.dumps([
                {"file": str(root / path), "command": f"c++ -std=c++20 -include vector -o x.o -c {root / path}"}
                for path in files if path.endswith(".cc")]))
            with mock.patch.object(check_includes, "ROOT", root), contextlib.redirect_stdout(io.StringIO()) as said:
                return check_includes.main(root, list(files)), said.getvalue()

    def test_what_includes_what_it_uses_is_good(self):
        status, said = self.check({"a/a.cc": GOOD, "a/a.h": GOOD, "a/a.txt": ""})
        self.assertEqual((status, said), (0, "2 files include what they use\n"))

    def test_a_source_and_a_header_that_forget(self):
        for files in ({"a/a.cc": FORGETS}, {"a/a.cc": GOOD, "a/detail/a.h": FORGETS}):
            status, said = self.check(files)
            self.assertEqual(status, 1)
            self.assertIn(f"{list(files)[-1]}:1:", said)

    def test_a_source_that_is_compiled_with_others(self):
        for text, status in ((GOOD, 0), (FORGETS, 1)):
            with tempfile.TemporaryDirectory() as folder:
                root = Path(folder).resolve()
                (root / "a.cc").write_text(text)
                (root / "unity_0_cxx.cxx").write_text(f'/* generated */\n#include "{root}/a.cc"\n')
                (root / "compile_commands.json").write_text(json.dumps(
                    [{"file": f"{root}/unity_0_cxx.cxx", "command": "c++ -std=c++20 -include vector -o x.o -c x.cxx"}]))
                with mock.patch.object(check_includes, "ROOT", root), contextlib.redirect_stdout(io.StringIO()) as said:
                    self.assertEqual(check_includes.main(root, ["a.cc"]), status, said.getvalue())


if __name__ == "__main__":
    unittest.main()
