#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants rows, outputs and pages in a small tree and expects tools/claims.py to run, record and render them."""
import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.dont_write_bytecode = True
import claims  # noqa: E402


BENCH = {"command": "echo 150M/s", "read": r"(\S+)"}


def row(name, command, value="1", **more):
    return {"name": name, "claim": "a claim", "command": command, "sources": ["a.cc"], "value": value, "commit": "none",
            "date": "2026-01-01", **more}


class ClaimsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "docs").mkdir()
        self.write("a.cc", "1")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def table(self, *rows, **more):
        above = "# head\n" + claims.yaml.safe_dump({"roofline": BENCH, **more}) + "\nclaims:\n"
        self.write("docs/claims.yaml", claims.dumped(above, list(rows)))
        return claims.Claims(self.root)

    def tool(self, *arguments):
        """Exit status and output of the command line."""
        out = io.StringIO()
        with mock.patch.object(sys, "argv", ["claims", "--root", str(self.root), *arguments]), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            return claims.main(), out.getvalue()

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments], cwd=self.root,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def recorded(self, name):
        _, document = claims.read_table(self.root / "docs/claims.yaml")
        return next(r for r in document["claims"] if r["name"] == name)

    def stale(self):
        """Names of the rows that are stale."""
        now = claims.Claims(self.root)
        return [r["name"] for r in now.rows if now.is_stale(r)]

    def test_a_value_is_read_and_recorded(self):
        self.table(row("a", "echo error 12.5 %", "12.5 %", read=r"error (\S+ %)"))
        self.assertEqual(self.tool()[0], 0)
        self.assertEqual(self.recorded("a")["value"], "12.5 %")
        self.assertNotEqual(self.recorded("a")["date"], "2026-01-01")
        self.assertIn("12.5 %", (self.root / "docs/claims.md").read_text())

    def test_parts_have_a_form(self):
        self.table(row("a", "echo 1 of 2; echo 3 ms", read=["(1) of (2)", r"(\d) ms"], form="{2} ms of {1}"))
        self.tool()
        self.assertEqual(self.recorded("a")["value"], "3 ms of 2")

    def test_a_value_that_changed_is_told_and_recorded(self):
        self.table(row("a", "echo 13 %", "12.5 %", read=r"(\S+ %)"))
        status, out = self.tool()
        self.assertEqual(status, 1)
        self.assertIn("CHANGED: 13 %, was 12.5 %", out)
        self.assertEqual(self.recorded("a")["value"], "13 %")

    def test_numbers_agree_within_a_tolerance(self):
        self.assertTrue(claims.agrees("0.55 s", "0.60 s", 0.3))
        self.assertFalse(claims.agrees("0.55 s", "0.60 s", 0.01))
        self.assertFalse(claims.agrees("0.55 s", "0.55 ms", 0.3))
        self.assertFalse(claims.agrees("0.55 s", "0.60 s", 0))

    def test_a_command_that_fails_keeps_the_value_and_is_stale(self):
        self.table(row("a", "echo 2; exit 3", read=r"(\d)"), row("b", "echo none", read=r"(\d)"))
        status, out = self.tool()
        self.assertEqual(status, 1)
        self.assertIn("exit status 3", self.recorded("a")["failed"])
        self.assertIn("lacks", self.recorded("b")["failed"])
        self.assertEqual(self.recorded("a")["value"], "1")
        self.assertEqual((self.root / "docs/claims.md").read_text().count(claims.STALE), 2)

    def test_a_status_that_is_expected(self):
        self.table(row("a", "echo 1; exit 1", read=r"(\d)", status=[0, 1]))
        self.assertEqual(self.tool()[0], 0)

    def test_what_was_skipped_shows_nothing(self):
        self.table(row("a", "echo '100% tests passed'; echo Skipped", unless="Skipped"))
        self.assertEqual(self.tool()[0], 1)
        self.assertIn("Skipped", self.recorded("a")["failed"])

    def test_a_row_is_written_when_it_is_done(self):
        self.table(row("a", "echo 2", "2", read=r"(\d)"), row("b", "cat docs/claims.yaml", "x", read=r"(seconds)"))
        self.tool()
        self.assertEqual(self.recorded("b")["value"], "seconds")

    def test_the_build_folder_is_replaced(self):
        self.table(row("a", "echo build/x --test-dir build -R rebuild/y", "x", read=r"(.*)"))
        self.tool("--build", "/b")
        self.assertEqual(self.recorded("a")["value"], "/b/x --test-dir /b -R rebuild/y")

    def test_the_page_is_what_the_table_renders_to(self):
        table = self.table(row("a", "true"))
        table.render()
        self.assertEqual(self.tool("--check")[0], 0)
        page = self.root / "docs/claims.md"
        page.write_text(page.read_text().replace("a claim", "another claim"))
        status, out = self.tool("--check")
        self.assertEqual(status, 1)
        self.assertIn("another claim", out)
        self.assertEqual(self.tool("--render")[0], 0)
        self.assertEqual(self.tool("--check")[0], 0)

    def test_a_missing_page(self):
        self.table(row("a", "true"))
        self.assertEqual(self.tool("--check")[0], 1)

    def test_what_runs(self):
        self.table(row("a", "echo 2", "2", read=r"(\d)"), row("b", "echo 2", "2", read=r"(\d)", slow=True))
        self.assertNotIn("b ", self.tool("a")[1])
        self.assertIn("b ", self.tool()[1])

    def test_a_command_is_run_once(self):
        self.table(row("a", "echo x >> log; wc -l < log", read=r"(\d)"), row("b", "echo x >> log; wc -l < log", read=r"(\d)"))
        self.assertEqual(self.tool()[0], 0)
        self.assertEqual((self.root / "log").read_text(), "x\n")

    def test_a_time_bears_the_speed_of_the_machine(self):
        self.table(row("time", "echo 2 s", read=r"(\d s)"), row("value", "echo 3", read=r"(\d)", exact=True))
        self.tool()
        self.assertEqual(self.recorded("time")["roofline"], "150M/s")
        self.assertNotIn("roofline", self.recorded("value"))
        self.assertIn("roofline 150M/s", (self.root / "docs/claims.md").read_text())

    def test_a_time_without_the_speed_of_the_machine_is_none(self):
        self.table(row("a", "echo 2 s", "1 s", read=r"(\d s)"), roofline={"command": "false"})
        self.assertEqual(self.tool()[0], 1)
        self.assertIn("the machine's speed is unknown: exit status 1", self.recorded("a")["failed"])
        self.assertEqual(self.recorded("a")["value"], "1 s")

    def test_a_changed_source_makes_its_own_claims_stale(self):
        for path in ("model/deep/m.cc", "sim/s.cc", "notes.md"):
            self.write(path, "1")
        self.table(row("file", "echo 1", read=r"(\d)"), row("folder", "echo 1", read=r"(\d)", sources=["model"]),
                   row("pattern", "echo 1", read=r"(\d)", sources=["s*/*.cc"]),
                   row("group", "echo 1", read=r"(\d)", sources=["BOTH"]), groups={"BOTH": ["ONE", "sim"], "ONE": ["model"]})
        self.assertEqual(self.stale(), ["file", "folder", "pattern", "group"])
        self.tool()
        for path, expected in (("notes.md", []), ("docs/claims.md", []), ("a.cc", ["file"]),
                               ("model/deep/m.cc", ["folder", "group"]), ("sim/s.cc", ["pattern", "group"])):
            before = (self.root / path).read_text()
            self.write(path, "2")
            self.assertEqual(self.stale(), expected, path)
            self.write(path, before)
            self.assertEqual(self.stale(), [], path)
        self.write("model/another.cc", "")
        self.assertEqual(self.stale(), ["folder", "group"])
        self.tool("group")
        self.assertEqual(self.stale(), ["folder"])

    def test_staleness_needs_no_history(self):
        self.table(row("a", "echo 1", read=r"(\d)"))
        self.tool()
        self.git("init")
        self.git("add", ".")
        self.assertEqual(self.stale(), [])
        self.git("commit", "-m", "one")
        self.assertEqual(self.stale(), [])
        self.write("ignored/a.cc", "1")
        self.write(".gitignore", "ignored/")
        self.assertEqual(self.stale(), [])
        self.write("a.cc", "2")
        self.git("commit", "-am", "two")
        self.assertEqual(self.stale(), ["a"])
        self.tool("--render")
        self.assertIn(claims.STALE, (self.root / "docs/claims.md").read_text())

    def test_sources_that_are_nowhere(self):
        self.table(row("a", "true", sources=["b.cc"]))
        status, out = self.tool("--list")
        self.assertEqual((status, "no file is 'b.cc'" in out), (2, True), out)

    def test_a_run_on_changed_sources_says_so(self):
        self.git("init")
        self.write("b.cc", "1")
        self.git("add", ".")
        self.git("commit", "-m", "one")
        self.write("a.cc", "2")
        self.table(row("a", "echo 1", read=r"(\d)"), row("b", "echo 1", read=r"(\d)", sources=["b.cc"]))
        self.tool()
        self.assertRegex(self.recorded("a")["commit"], r"^[0-9a-f]{7}\+$")
        self.assertRegex(self.recorded("b")["commit"], r"^[0-9a-f]{7}$")

    def test_the_check_runs_exact_rows(self):
        self.table(row("right", "echo 1", read=r"(\d)", exact=True), row("time", "touch ran", "2 s"),
                   row("long", "touch ran", exact=True, slow=True))
        self.tool("--render")
        status, out = self.tool("--check", "--run")
        self.assertEqual(status, 0, out)
        self.assertFalse((self.root / "ran").exists())
        self.assertEqual(self.recorded("right")["date"], "2026-01-01", "a check records nothing")

    def test_an_exact_row_with_another_value_fails(self):
        self.table(row("a", "echo 1.02", "1.01", read=r"(\S+)", exact=True))
        self.tool("--render")
        self.assertEqual(self.tool("--check")[0], 0)
        status, out = self.tool("--check", "--run")
        self.assertEqual(status, 1)
        self.assertIn("DIFFERS: 1.02, recorded 1.01", out)
        self.table(row("a", "echo none", "1.01", read=r"(\d)", exact=True))
        self.assertEqual(self.tool("--check", "--run")[0], 1)

    def test_an_exact_row_without_its_data_is_left_out(self):
        self.table(row("a", "echo the data are missing; exit 3", exact=True, unless="are missing"))
        self.tool("--render")
        status, out = self.tool("--check", "--run")
        self.assertEqual(status, 0, out)
        self.assertIn("left out: the output has 'are missing'", out)

    def test_the_table_of_the_readme(self):
        self.table(row("a", "echo 5", "4", read=r"(\d)", exact=True, readme="how many"), row("b", "true"),
                   row("c", "echo 2 s", "1 s", read=r"(\d s)", readme="how long"))
        self.assertIn("README.md: lacks", self.tool("--check")[1])
        self.write("README.md", f"# T\n\n{claims.README_FIRST}\n{claims.README_LAST}\n\nText.\n")
        self.tool()
        readme = (self.root / "README.md").read_text()
        self.assertEqual(readme.splitlines()[2:], [
            claims.README_FIRST, "| | | `./dev claims` |", "|---|---|---|", "| how many | 5 | `a` |",
            "| how long | 2 s (roofline 150M/s) | `c` |", claims.README_LAST, "", "Text."])
        self.assertEqual(self.tool("--check")[0], 0)
        self.write("README.md", readme.replace("| 5 |", "| 6 |"))
        status, out = self.tool("--check")
        self.assertEqual((status, "README.md:6: is not what" in out), (1, True), out)

    def test_aims(self):
        for aim, value, expected in (("<= 8 %", "8.8 %", True), ("<= 8 %", "-7 %", False), (">= .85", ".811, .947", True),
                                     (">= 1.15", "1.44 times", False), ("at most 3", "4", False)):
            self.assertEqual(claims.missed({"aim": aim, "value": value}), expected, (aim, value))

    def test_wrong_tables(self):
        for rows, part in (([row("a", "true"), row("a", "true")], "there twice"),
                           ([{"name": "a"}], "lacks 'claim'"),
                           ([row("a", "true", read="(")], "pattern '('")):
            self.write("docs/claims.yaml", "\nclaims:\n" + claims.yaml.safe_dump(rows))
            status, out = self.tool("--check")
            self.assertEqual((status, part in out), (2, True), out)
        self.write("docs/claims.yaml", "\nclaims:\n- {name: a, clam: b}\n")
        self.assertIn("unknown key 'clam'", self.tool()[1])
        self.write("docs/claims.yaml", "- {name: a}\n")
        self.assertIn("expected a list of rows under 'claims:'", self.tool()[1])
        self.table(row("a", "true"))
        self.assertEqual(self.tool("b")[0], 2)


if __name__ == "__main__":
    unittest.main()
