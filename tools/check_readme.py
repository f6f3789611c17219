#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the documents true: python3 tools/check_readme.py [--root DIR] [--build DIR] [--links | PAGE...]

Commands: every fenced block of a page (README.md where none is named) whose first line starts with `$ ` is run, line by line as a user would type it
(from the root, by bash; a trailing backslash continues a line), and what it prints is compared with what the block shows.
Lines must be equal but for blanks at their ends. In a line that holds `...` each `...` stands for any text, a number for
any number and a run of blanks for any run of blanks; a line that is `...` alone stands for any number of lines.
Comments just above a block: `<!-- not run: REASON -->` leaves it out, `<!-- exit status: N -->` expects its last command
to end so (0 where nothing is said).
Links: every relative link of README.md, CHANGELOG.md, CONTRIBUTING.md, docs/*.md and README.md of experiments/ leads to a
file that exists, and what follows its `#` is a heading there, as GitHub names them. --links checks these alone, without a build.
--build: the build folder that stands for `build/` in commands, for builds elsewhere.
"""
import argparse
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

TIMEOUT_SECONDS = 600
NUMBER = r"\d+(?:\.\d+)?"
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
NOT_RUN = re.compile(r"<!--\s*not run:\s*\S.*-->")
STATUS = re.compile(r"<!--\s*exit status:\s*(\d+)\s*-->")
CODE = re.compile(r"(`+)(?:[^`\n]|\n(?!\s*\n))+\1")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\s*\[[^\]]+\]:\s+(\S+)")  # the text may begin a line above


@dataclass
class Command:
    line: int
    text: str
    expected: list = field(default_factory=list)
    status: int = 0


def blocks(text):
    """(line of the first inner line, inner lines, the nearest text above the fence) of every fenced block."""
    fence, start, inner, above = None, 0, [], ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = FENCE.match(line)
        if fence is None:
            if mark:
                fence, start, inner = mark.group(1), number + 1, []
            elif line.strip():
                above = line
        elif mark and line.strip() == fence:
            yield start, inner, above
            fence, above = None, ""
        else:
            inner.append(line)


def commands_of(text):
    """The commands of all blocks that are to be run, each with the output shown below it."""
    for start, inner, above in blocks(text):
        if not inner or not inner[0].startswith("$ ") or NOT_RUN.search(above):
            continue
        found, continues = [], False
        for number, line in enumerate(inner, start):
            if continues:
                found[-1].text += "\n" + line
            elif line.startswith("$ "):
                found.append(Command(number, line[2:]))
            else:
                found[-1].expected.append(line)
                continue
            continues = line.endswith("\\")
        status = STATUS.search(above)
        found[-1].status = int(status.group(1)) if status else 0
        yield from found


def loosened(line):
    """A pattern for a line that holds `...`."""
    pattern = ""
    for part in re.split(rf"(\s*\.\.\.|\s+|{NUMBER})", line.strip()):
        if part.endswith("..."):  # with the blanks before it, so that it may stand for nothing
            pattern += ".*"
        elif part.isspace():
            pattern += r"\s+"
        elif re.fullmatch(NUMBER, part):
            pattern += NUMBER
        else:
            pattern += re.escape(part)
    return pattern


def line_matches(expected, line):
    if "..." in expected:
        return re.fullmatch(loosened(expected), line.strip()) is not None
    return expected.rstrip() == line.rstrip()


def first_difference(expected, actual):
    """None where the output is as shown, else (shown line, printed line), either None at an end."""
    i = 0
    for n, line in enumerate(expected):
        if line.strip() == "...":
            rest = expected[n + 1:]
            if not rest:
                return None
            later = [first_difference(rest, actual[j:]) for j in range(i, len(actual) + 1)]
            return None if None in later else (rest[0], None)
        if i == len(actual) or not line_matches(line, actual[i]):
            return line, actual[i] if i < len(actual) else None
        i += 1
    return (None, actual[i]) if i < len(actual) else None


def trimmed(text):
    """Lines without the empty ones at both ends."""
    lines = text.splitlines() if isinstance(text, str) else list(text)
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    return lines


def run(command, root, build):
    """What is wrong with a command, or None. Both outputs count, as in a terminal."""
    text = re.sub(r"(?<![\w/])(?:\./)?build/", lambda _: f"{build}/", command.text) if build else command.text
    try:
        done = subprocess.run(["bash", "-c", text], cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"not done after {TIMEOUT_SECONDS} s"
    if done.returncode != command.status:
        return f"exit status {done.returncode}, not {command.status}; it printed:\n{done.stdout[-2000:]}"
    printed = done.stdout.replace(f"{build}/", "build/") if build else done.stdout
    difference = first_difference(trimmed(command.expected), trimmed(printed))
    if difference is None:
        return None
    shown, printed = ("the end" if side is None else repr(side) for side in difference)
    return f"output differs\n  shown:   {shown}\n  printed: {printed}"


def check_commands(readme, root, build):
    for command in commands_of(readme.read_text()):
        print(f"$ {command.text}", flush=True)
        problem = run(command, root, build)
        if problem:
            yield f"{readme.name}:{command.line}: {problem}"


def prose_lines(text):
    """Numbered lines outside of fences, inline code removed; code may go over a line's end, not over a paragraph's."""
    fenced = set()
    for start, inner, _ in blocks(text):
        fenced.update(range(start - 1, start + len(inner) + 1))
    lines = ["" if number in fenced else line for number, line in enumerate(text.splitlines(), 1)]
    prose = CODE.sub(lambda code: "\n" * code.group().count("\n"), "\n".join(lines))
    yield from enumerate(prose.split("\n"), 1)


def anchors(document):
    """The names of a document's headings: lower case, blanks as `-`, no punctuation, -1, -2 .. where names repeat."""
    found = set()
    fenced = {number for start, inner, _ in blocks(document.read_text())
              for number in range(start - 1, start + len(inner) + 1)}
    for number, line in enumerate(document.read_text().splitlines(), 1):
        heading = HEADING.match(line)
        if heading is None or number in fenced:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
        name = unique = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        count = 0
        while unique in found:
            count += 1
            unique = f"{name}-{count}"
        found.add(unique)
    return found


def check_links(document, root):
    for number, line in prose_lines(document.read_text()):
        for match in LINK.finditer(line):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            path, _, anchor = target.partition("#")
            file = document.parent / path if path else document
            where = f"{document.relative_to(root)}:{number}: link to '{target}'"
            if not file.exists():
                yield f"{where}: no such file"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                yield f"{where}: no such heading"


def documents(root):
    named = [root / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    pages = sorted((root / "docs").glob("*.md")) + sorted((root / "experiments").rglob("README.md"))
    return [path for path in named if path.exists()] + pages


def check(root, build, pages=("README.md",)):
    absent = [f"{page}: no such file" for page in pages if not (root / page).exists()]
    if absent:
        return absent
    problems = [problem for document in documents(root) for problem in check_links(document, root)]
    for page in pages:
        problems.extend(check_commands(root / page, root, build))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--build", type=Path)
    parser.add_argument("--links", action="store_true")
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    options = parser.parse_args()
    if options.links and options.pages:
        parser.error("--links runs no page's commands")
    pages = () if options.links else options.pages or ("README.md",)
    problems = check(options.root.resolve(), options.build and options.build.resolve(), pages)
    for problem in problems:
        print(problem)
    print(f"documents: {len(problems)} problems" if problems else "documents: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
