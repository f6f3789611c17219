#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays out small trees by tools/docs_site.py, and expects it to find links of a site that lead nowhere."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.dont_write_bytecode = True
import docs_site  # noqa: E402


class DocsSiteTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, **files):
        for path, text in files.items():
            file = self.root / path.replace("__", "/").replace("_dot_", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def page(self, text, name="a.md"):
        self.write(**{f"docs__{name.replace('.', '_dot_')}": text})
        self.layout = docs_site.Layout(self.root, self.root / "out")
        self.layout.write()
        return (self.root / "out" / name).read_text()

    def test_links_lead_to_pages_and_copies(self):
        self.write(README_dot_md="[a](docs/a.md#there)\n", docs__b_dot_md="# B\n", model__x_dot_h="int x;\n",
                   docs__p__p_dot_svg="<svg/>", data__d_dot_csv="1\n")
        text = self.page("[b](b.md#b) [up](../README.md) [x](../model/x.h) ![p](p/p.svg)\n[all\nof it](../data) `[c](no.md)`\n")
        self.assertEqual(text, "[b](b.md#b) [up](index.md) [x](source/model/x.h.txt) ![p](p/p.svg)\n"
                               "[all\nof it](source/data/files.txt) `[c](no.md)`\n")
        self.assertEqual((self.root / "out/index.md").read_text(), "[a](a.md#there)\n")
        self.assertEqual((self.root / "out/source/model/x.h.txt").read_text(), "int x;\n")
        self.assertEqual((self.root / "out/source/data/files.txt").read_text(), "d.csv\n")
        self.assertTrue((self.root / "out/p/p.svg").exists())
        self.assertEqual(self.layout.nothing, [])

    def test_a_link_to_nothing(self):
        self.page("[a](no.md) [out](../../etc/passwd) [web](https://example.org)\n")
        self.assertEqual([target for _, target in self.layout.nothing], ["no.md", "../../etc/passwd"])

    def test_blocks_begin_after_a_blank_line(self):
        self.assertEqual(self.page("text\n- one\n- two\n  more\n- three\n\n|a|b|\n|---|---|\n"),
                         "text\n\n- one\n- two\n  more\n- three\n\n|a|b|\n|---|---|\n")
        code = "text\n```\nwords\n- [no](list.md)\n```\n"
        self.assertEqual(self.page(code), code)

    def test_headings_of_one_name(self):
        self.assertEqual(self.page("# A b\n## a B\n## c\n"), "# A b\n## a B {: #a-b-1 }\n## c\n")

    def test_dead_links_of_a_site(self):
        self.write(index_dot_html='<h1 id="top">x</h1><a href="#top">1</a><a href="b.html#b">2</a><a href="//cdn">3</a>',
                   b_dot_html='<a id="b"></a><a href="index.html#no">4</a><img src="no.png"><a href="mailto:a@b">5</a>')
        self.assertEqual([(str(page), target) for page, target in docs_site.dead_links(self.root)],
                         [("b.html", "index.html#no"), ("b.html", "no.png")])


if __name__ == "__main__":
    unittest.main()
