#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documents as a static site: python3 tools/docs_site.py [--root DIR]

Lays out build/docs/pages: README.md as index.md, CHANGELOG.md, CONTRIBUTING.md, docs/*.md,
experiments/studies/NAME/README.md as study_NAME.md, and what they show; a link to any other file of the tree leads to a
copy of it under source/, a link to a folder to a list of its files. Then mkdocs renders build/docs/site by mkdocs.yml, and
every link of every page is followed, headings included. Exit status 1 where one leads nowhere, 2 where mkdocs is not
installed or refuses.
"""
import argparse
import html.parser
import itertools
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_readme  # noqa: E402

FIRST = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")
TARGET = re.compile(r"(\]\(\s*<?)([^)\s>]+)")
BLOCK = re.compile(r"(\||- |\d+\. )")


def slug(text, separator="-"):
    """A heading's name as GitHub has it, so that links hold on both."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


def _parted(lines):
    """Lines of prose with a blank one before each list and table, as Python-Markdown wants."""
    out = []
    for line in lines:
        block, same = BLOCK.match(line), BLOCK.match(out[-1]) if out else None
        begins = block and not (same and same.group(1)[0] == block.group(1)[0])
        if begins and out and out[-1].strip() and not out[-1].startswith(" ") and not block.group(1)[0].isdigit():
            out.append("")
        out.append(line)
    return out


def _named(line, names):
    """A heading whose name an earlier one of the page has, with the name that GitHub gives it."""
    heading = check_readme.HEADING.match(line)
    if heading is None:
        return line
    name = unique = slug(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)))
    for count in itertools.count(1):
        if unique not in names:
            break
        unique = f"{name}-{count}"
    names.add(unique)
    return line if unique == name else f"{line} {{: #{unique} }}"


class Layout:
    """What lies where: pages by their source files, and copies of what they link to."""

    def __init__(self, root, out):
        self.root, self.out = root, out
        self.pages = {root / name: page for name, page in FIRST.items() if (root / name).exists()}
        self.pages |= {path: path.name for path in sorted((root / "docs").glob("*.md"))}
        self.pages |= {path: f"study_{path.parent.name}.md"
                       for path in sorted((root / "experiments/studies").glob("*/README.md"))}
        self.nothing = []  # links without a target: (page, target)

    def write(self):
        for source, page in self.pages.items():
            self._file(page).write_text(self._page(source))

    def _file(self, path):
        file = self.out / path
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def _page(self, source):
        out, prose, fence, names = [], [], None, set()
        for line in [*source.read_text().splitlines(), None]:
            mark = line is not None and check_readme.FENCE.match(line)
            if fence is None and line is not None and not mark:
                prose.append(_named(line, names))
                continue
            out += self._linked(source, "\n".join(_parted(prose))).split("\n") if prose else []
            prose = []
            if mark:
                fence = mark.group(1) if fence is None else None if line.strip() == fence else fence
            out += [] if line is None else [line]
        return "\n".join(out) + "\n"

    def _linked(self, source, prose):
        at, parts = 0, []
        for code in check_readme.CODE.finditer(prose):  # keeps its text
            parts += [(prose[at:code.start()], True), (code.group(), False)]
            at = code.end()
        return "".join(TARGET.sub(lambda m: m.group(1) + self._target(source, m.group(2)), part) if links else part
                       for part, links in [*parts, (prose[at:], True)])

    def _target(self, source, target):
        path, mark, anchor = target.partition("#")
        if SCHEME.match(target) or not path:
            return target
        file = Path(os.path.normpath(source.parent / path))
        if file in self.pages:
            return self.pages[file] + mark + anchor
        if not file.exists() or self.root not in file.parents:
            self.nothing.append((source.relative_to(self.root), target))
            return target
        return self._copied(file)

    def _copied(self, file):
        inside = file.relative_to(self.root)
        if file.is_dir():
            listed = Path("source") / inside / "files.txt"
            self._file(listed).write_text("".join(f"{p.name}{'/' * p.is_dir()}\n" for p in sorted(file.iterdir())))
            return str(listed)
        shown = file.suffix in (".svg", ".png")
        if inside.parts[0] == "docs" and shown:
            copy = Path(*inside.parts[1:])
        else:  # a browser shows text
            copy = Path("source") / inside.with_name(inside.name + ("" if shown else ".txt"))
        shutil.copyfile(file, self._file(copy))
        return str(copy)


class Page(html.parser.HTMLParser):
    """The links and names of a page."""

    def __init__(self, file):
        super().__init__()
        self.targets, self.names = [], set()
        self.feed(file.read_text(errors="replace"))

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key == "id" or (tag == "a" and key == "name"):
                self.names.add(value)
            elif key in ("href", "src") and value:
                self.targets.append(value)


def dead_links(site):
    """(page, target) of every link of the site's pages that leads nowhere in it."""
    pages = {file: Page(file) for file in sorted(site.rglob("*.html")) if file.name not in ("404.html", "search.html")}
    for file, page in pages.items():
        for target in page.targets:
            if SCHEME.match(target) or target.startswith("//"):
                continue
            path, _, anchor = target.partition("#")
            to = Path(os.path.normpath(file.parent / urllib.parse.unquote(path.split("?")[0]))) if path else file
            if to.is_dir():
                to /= "index.html"
            anchor = urllib.parse.unquote(anchor)
            if not to.exists() or (anchor and to in pages and anchor not in pages[to].names):
                yield file.relative_to(site), target


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    if shutil.which("mkdocs") is None:
        print("docs_site: mkdocs is not installed: apt-get install mkdocs", file=sys.stderr)
        return 2
    out = root / "build/docs"
    shutil.rmtree(out, ignore_errors=True)
    layout = Layout(root, out / "pages")
    layout.write()
    tools = os.pathsep.join([str(root / "tools"), os.environ.get("PYTHONPATH", "")])
    if subprocess.run(["mkdocs", "--quiet", "build"], cwd=root, env=os.environ | {"PYTHONPATH": tools},
                      check=False).returncode != 0:
        return 2
    dead = layout.nothing + list(dead_links(out / "site"))
    for page, target in dead:
        print(f"{page}: link to '{target}' leads nowhere")
    print(f"docs: {len(layout.pages)} pages, {len(dead)} dead links; {(out / 'site/index.html').relative_to(root)}")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
