#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads sources and headers alone, without precompiled headers: each includes what it uses.

    tools/check_includes.py BUILD FILE...   BUILD holds compile_commands.json; files that are not C++ are skipped

A header is read with the options of a source of its folder; those of tests are read where sources include them.
"""
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def commands(build):
    """The options of every source of the tree, by path."""
    found = {}
    for entry in json.loads((Path(build) / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        for source in sources(entry["file"]):
            path = os.path.relpath(source, ROOT)
            if "-c" in words and not path.startswith(".."):
                found.setdefault(path, without_precompiled(words))
    return found


def sources(file):
    """The file, or those that a unity file, which CMake writes, has compiled together."""
    if not Path(file).name.startswith("unity_"):
        return [file]
    return re.findall(r'^#include "(.*)"$', Path(file).read_text(), re.M)


def without_precompiled(words):
    """A command that only checks what stands before its file."""
    words = words[:words.index("-c")]
    for option in ("-include", "-o"):
        while option in words:
            at = words.index(option)
            del words[at:at + 2]
    return [*words, "-fsyntax-only"]


def shared_folders(path, other):
    return len(os.path.commonpath([os.path.dirname(path), os.path.dirname(other)]))


def mistakes(path, options):
    """What the compiler says of a file; nothing where it is good."""
    if path in options:
        command = [*options[path], path]
    else:
        near = max(options, key=lambda other: shared_folders(path, other))
        command = [*options[near], "-include", path, "-x", "c++", "/dev/null"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stderr


def main(build, paths):
    options = commands(build)
    paths = [path for path in paths if path in options or path.endswith(".h") and not path.startswith(("tests/", "examples/"))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [text for text in pool.map(lambda path: mistakes(path, options), paths) if text]
    print("".join(said) or f"{len(paths)} files include what they use")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
