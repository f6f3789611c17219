#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants wrong commands, outputs and links in a small tree and expects tools/check_readme.py to find each of them."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.dont_write_bytecode = True
import check_readme  # noqa: E402


def block(*lines):
    return "\n".join(["```console", *lines, "```", ""])


class CheckReadmeTest(unittest.TestCase):
    def check(self, readme, files=None, build=None, pages=("README.md",)):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {"README.md": readme, **(files or {})}.items():
                file = Path(folder) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
                file.chmod(0o755)
            with contextlib.redirect_stdout(io.StringIO()):
                return check_readme.check(Path(folder), build and Path(folder) / build, pages)

    def expect_ok(self, readme, files=None, build=None):
        self.assertEqual(self.check(readme, files, build), [])

    def expect_one(self, readme, *parts):
        problems = self.check(readme)
        self.assertEqual(len(problems), 1, problems)
        for part in parts:
            self.assertIn(part, problems[0])

    def test_true_commands_pass(self):
        self.expect_ok("# Title\n\n" + block("$ echo one; echo two", "one", "two", "$ echo three", "three"))

    def test_a_wrong_output(self):
        self.expect_one("# Title\n" + block("$ echo 12 us", "13 us"), "README.md:3:", "'13 us'", "'12 us'")

    def test_missing_and_surplus_output(self):
        self.expect_one(block("$ echo one", "one", "two"), "shown:   'two'", "printed: the end")
        self.expect_one(block("$ echo one; echo two", "one"), "shown:   the end", "printed: 'two'")

    def test_a_command_that_shows_no_output_prints_none(self):
        self.expect_ok(block("$ true"))
        self.expect_one(block("$ echo one"), "printed: 'one'")

    def test_numbers_are_loose_only_beside_dots(self):
        self.expect_ok(block("$ echo tile 128x64  in 3.25 ms on a PC", "tile 128x64 in 4 ms ..."))
        self.expect_ok(block("$ echo in 3.25 ms", "in 4 ms ..."))
        self.expect_one(block("$ echo in 3.25 s", "in 4 ms ..."), "output differs")
        self.expect_one(block("$ echo in 3.25 ms", "in 4 ms"), "output differs")

    def test_dots_within_a_line_are_any_text(self):
        self.expect_ok(block("$ echo from here to there", "from ... there"))
        self.expect_one(block("$ echo from here to there", "from ... where"), "output differs")

    def test_dots_alone_are_any_lines(self):
        self.expect_ok(block("$ seq 1 9", "1", "...", "9"))
        self.expect_ok(block("$ seq 1 9", "..."))
        self.expect_one(block("$ seq 1 9", "1", "...", "10"), "shown:   '10'")

    def test_the_exit_status(self):
        self.expect_one(block("$ false"), "exit status 1, not 0")
        self.expect_ok("<!-- exit status: 2 -->\n" + block("$ echo bad >&2; exit 2", "bad"))
        self.expect_one("<!-- exit status: 2 -->\n" + block("$ true"), "exit status 0, not 2")

    def test_blocks_marked_not_run_and_other_blocks_are_left_alone(self):
        self.expect_ok("<!-- not run: takes minutes -->\n" + block("$ false") + block("int main() {}", "$ false"))

    def test_a_mark_without_a_reason_or_of_another_block_does_not_count(self):
        self.expect_one("<!-- not run: -->\n" + block("$ false"), "exit status 1")
        self.expect_one("<!-- not run: slow -->\n" + block("$ false") + block("$ false"), "README.md:6:")

    def test_long_commands_continue(self):
        self.expect_ok(block("$ echo one \\", "    two", "one two"))

    def test_another_build_folder(self):
        tool = {"elsewhere/tool": "#!/bin/sh\necho hello\n"}
        self.expect_ok(block("$ build/tool", "hello", "$ ls ./build/tool", "build/tool"), tool, "elsewhere")

    def test_links(self):
        links = "[a](docs/a.md) [b](docs/a.md#part) [c](https://example.org/x) [d](#here) `[e](no.md)`\n# Here\n"
        self.expect_ok(links + block("[f](no.md)"), {"docs/a.md": "## Part\n[up](../README.md)\n"})
        self.expect_one("text\n[a](docs/a.md)\n", "README.md:2: link to 'docs/a.md': no such file")
        self.expect_one("a link\n[over two\nlines](docs/a.md)\n", "README.md:3: link to 'docs/a.md': no such file")
        self.expect_one("`code\nin two lines` and [a](b.md), `more`", "README.md:2: link to 'b.md': no such file")
        self.expect_one("[a]: picture.png\n", "README.md:1: link to 'picture.png'")
        problems = self.check("", {"docs/a.md": "[a](README.md)\n"})
        self.assertEqual(problems, ["docs/a.md:1: link to 'README.md': no such file"])

    def test_anchors(self):
        page = "# What it ignores\n## `--legend` of [a table](a.md)\n## Twice\n## Twice\n" + block("# no heading")
        good = ("a.md#what-it-ignores", "a.md#--legend-of-a-table", "a.md#twice", "a.md#twice-1")
        self.expect_ok(" ".join(f"[x](docs/{target})" for target in good), {"docs/a.md": page})
        for target in ("docs/a.md#what", "docs/a.md#twice-2", "docs/a.md#no-heading", "#here"):
            problems = self.check(f"[x]({target})\n# There\n", {"docs/a.md": page})
            self.assertEqual(problems, [f"README.md:1: link to '{target}': no such heading"])
        for document in ("CHANGELOG.md", "CONTRIBUTING.md"):
            self.assertEqual(len(self.check("", {document: "[x](#there)\n"})), 1)

    def test_pages(self):
        files = {"docs/a.md": block("$ echo one", "two"), "docs/b.md": block("$ echo one", "one")}
        self.assertEqual(self.check(block("$ false"), files, pages=("docs/b.md",)), [])
        problems = self.check("", files, pages=("docs/b.md", "docs/a.md"))
        self.assertEqual(len(problems), 1)
        self.assertIn("a.md:2:", problems[0])
        self.assertEqual(self.check("", files, pages=("docs/c.md",)), ["docs/c.md: no such file"])
        self.assertEqual(self.check("[x](no.md)\n" + block("$ false"), files, pages=()),
                         ["README.md:1: link to 'no.md': no such file"])

    def test_a_missing_readme(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(check_readme.check(Path(folder), None), ["README.md: no such file"])


if __name__ == "__main__":
    unittest.main()
