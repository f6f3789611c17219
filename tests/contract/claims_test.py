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


def row(name, command, value="1", **more):
    return {"name": name, "claim": "a claim", "command": command, "value": value, "commit": "none", "date": "2026-01-01",
            **more}


class ClaimsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "docs").mkdir()

    def table(self, *rows):
        (self.root / "docs/claims.yaml").write_text(claims.dumped("# head\n", list(rows)))
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
        _, rows = claims.read_table(self.root / "docs/claims.yaml")
        return next(r for r in rows if r["name"] == name)

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

    def test_slow_rows_run_by_name_or_with_all(self):
        self.table(row("a", "echo 2", "2", read=r"(\d)"), row("b", "echo 2", "2", read=r"(\d)", slow=True))
        self.assertNotIn("b ", self.tool()[1])
        self.assertIn("b ", self.tool("b")[1])
        self.assertIn("b ", self.tool("--all")[1])

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

    def test_rows_grow_stale_when_sources_change(self):
        self.git("init")
        (self.root / "a.cc").write_text("1")
        self.git("add", ".")
        self.git("commit", "-m", "one")
        self.table(row("a", "echo 1", read=r"(\d)"))
        self.tool()
        fresh = claims.Claims(self.root)
        self.assertFalse(claims.is_stale(fresh.rows[0], fresh.history))
        (self.root / "b.md").write_text("1")
        self.git("add", ".")
        self.git("commit", "-m", "documents")
        after_documents = claims.Claims(self.root)
        self.assertFalse(claims.is_stale(after_documents.rows[0], after_documents.history))
        (self.root / "a.cc").write_text("2")
        self.git("commit", "-am", "two")
        after_sources = claims.Claims(self.root)
        self.assertTrue(claims.is_stale(after_sources.rows[0], after_sources.history))
        self.assertEqual(self.tool("--check")[0], 0)  # stale marks are no difference
        self.assertIn("1 stale", self.tool("--check")[1])

    def test_a_run_on_changed_sources_says_so(self):
        self.git("init")
        (self.root / "a.cc").write_text("1")
        self.git("add", ".")
        self.git("commit", "-m", "one")
        (self.root / "a.cc").write_text("2")
        self.table(row("a", "echo 1", read=r"(\d)"))
        self.tool()
        self.assertTrue(self.recorded("a")["commit"].endswith("+"))
        self.assertIn("stale", self.tool("--list")[1])

    def test_aims(self):
        for aim, value, expected in (("<= 8 %", "8.8 %", True), ("<= 8 %", "-7 %", False), (">= .85", ".811, .947", True),
                                     (">= 1.15", "1.44 times", False), ("at most 3", "4", False)):
            self.assertEqual(claims.missed({"aim": aim, "value": value}), expected, (aim, value))

    def test_wrong_tables(self):
        for rows, part in (([row("a", "true"), row("a", "true")], "there twice"),
                           ([{"name": "a"}], "lacks 'claim'"),
                           ([row("a", "true", read="(")], "pattern '('")):
            (self.root / "docs/claims.yaml").write_text(claims.yaml.safe_dump(rows))
            status, out = self.tool("--check")
            self.assertEqual((status, part in out), (2, True), out)
        (self.root / "docs/claims.yaml").write_text("- {name: a, clam: b}\n")
        self.assertIn("unknown key 'clam'", self.tool()[1])
        self.table(row("a", "true"))
        self.assertEqual(self.tool("b")[0], 2)


if __name__ == "__main__":
    unittest.main()
