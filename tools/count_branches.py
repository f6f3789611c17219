#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the places outside the families that ask which micro-kernel, transfer or pipeline a program has.

    tools/count_branches.py [--list] [--check] [TREE]

A place is a line of product code in which a condition (if, ?:, &&, ||, while, a returned comparison, a variant's
alternative) reads one of WORDS. A family's own folders (transfer/, microkernel/, pipeline/) may ask what they like.
--check fails where there are more than MOST, or another number than docs/add-an-instruction.md states. MOST falls with
the number and does not rise: a new question is a function of the family with an answer for each entry.
"""

import pathlib
import re
import sys

FOLDERS = "base arch expr tile lower model construct sim backends experiments targets import cli".split()
MOST = 8
FAMILIES = {"transfer", "microkernel", "pipeline"}
# Cores that exchange have none of the families; their boxes and rotating operands are other things.
OTHER_CLASS = {"bsp", "ipu_sim"}
ENTRIES = "Fma|Mma|Wgmma|Tcgen05|Epilogue|PerThread|CpAsync|Tma|DirectStore|RowStore|TmaStore"
# Fields and functions of a program that tell entries of a family apart: of today, and of releases before.
WORDS = re.compile(
    r"\b(?:p|p_|q|s\.p|stage|stages\[0\])(?:\.|->)matrix\b|\bseed\.(?:matrix|instruction)\b"
    r"|\b(?:factors_staged|in_core_matrices|in_boxes|chunked|blocked|swizzle)\b|\bby_tma\("
    rf"|\boperands(?:\[[^]]*\]|\.back\(\))\.box\b|(?:holds_alternative|get_if)<tile::(?:{ENTRIES})>")
# Within tile/, whose names these are; a Kernel's statements have some of them too.
OWN_WORDS = re.compile(rf"(?:holds_alternative|get_if)<(?:{ENTRIES})>")
CONDITION = re.compile(r"\bif\b|\?|&&|\|\||\bwhile\b|\breturn\b.*[!=]=|holds_alternative|get_if")
COMMENT = re.compile(r"//.*")
PAGE, STATED = "docs/add-an-instruction.md", re.compile(r"`tools/count_branches.py` counts[^.]*?: (\d+)\.")


def places(tree):
    for folder in FOLDERS:
        for path in sorted((tree / folder).rglob("*")):
            parts = set(path.relative_to(tree).parts)
            if path.suffix not in (".h", ".cc") or (FAMILIES | OTHER_CLASS) & parts:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = COMMENT.sub("", line)
                if CONDITION.search(code) and (WORDS.search(code) or (folder == "tile" and OWN_WORDS.search(code))):
                    yield path.relative_to(tree), number, line.strip()


def main():
    words = [w for w in sys.argv[1:] if w not in ("--list", "--check")]
    tree = pathlib.Path(words[0]) if words else pathlib.Path(__file__).resolve().parents[1]
    found = list(places(tree))
    if "--list" in sys.argv:
        for path, number, line in found:
            print(f"{path}:{number}: {line}")
    print(f"{len(found)} places in {len({path for path, _, _ in found})} files")
    if "--check" not in sys.argv:
        return 0
    if len(found) > MOST:
        print(f"at most {MOST}: ask the family, in a function with an answer for each entry; --list names the places")
        return 1
    if len(found) < MOST:
        print(f"set MOST to {len(found)}, so that it stays there")
        return 1
    stated = STATED.search((tree / PAGE).read_text())
    if stated and int(stated.group(1)) == len(found):
        return 0
    print(f"{PAGE}: states {stated.group(1) if stated else 'no number'}, not {len(found)}; --list names the places")
    return 1


if __name__ == "__main__":
    sys.exit(main())
