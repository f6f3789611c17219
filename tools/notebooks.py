#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs notebooks cell by cell and keeps their outputs, without a server: tools/notebooks.py [--check] [FILE...]

--check runs them too, and compares what they print with what they hold; pictures are not compared. Takes IPython, and
the module tilescope on PYTHONPATH. The files are all of docs/notebooks where none is given.
"""
import argparse
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def runner():
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="NoColor")
    try:
        import matplotlib
        from IPython.core.pylabtools import select_figure_formats

        matplotlib.use("agg")
        select_figure_formats(shell, {"png"})
    except ImportError:
        pass
    return shell


def outputs_of(shell, source, number):
    """The outputs of a cell as notebooks hold them; raises what the cell raised."""
    from IPython.utils.capture import capture_output

    results = []
    hook = shell.displayhook

    def keep(value):
        if value is None or hook.quiet():
            return
        data, _ = shell.display_formatter.format(value)
        results.append({"output_type": "execute_result", "execution_count": number, "metadata": {},
                        "data": {kind: text.splitlines(keepends=True) if kind.startswith("text/") else text
                                 for kind, text in data.items()}})

    with capture_output(stdout=True, stderr=False, display=False) as captured:
        sys.displayhook, before = keep, sys.displayhook
        shell.displayhook_class.__call__, called = (lambda self, value=None: keep(value)), shell.displayhook_class.__call__
        try:
            ended = shell.run_cell(source, store_history=False)
        finally:
            sys.displayhook = before
            shell.displayhook_class.__call__ = called
    ended.raise_error()
    text = [{"name": "stdout", "output_type": "stream", "text": captured.stdout.splitlines(keepends=True)}]
    return (text if captured.stdout else []) + results


def run(path):
    """The notebook with new outputs."""
    book = json.loads(path.read_text(encoding="utf-8"))
    shell = runner()
    os.chdir(path.parent)
    number = 0
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        number += 1
        cell["execution_count"] = number
        cell["outputs"] = outputs_of(shell, "".join(cell["source"]), number)
    return book


def texts(book):
    """What a notebook prints, without pictures."""
    out = []
    for cell in book["cells"]:
        for output in cell.get("outputs", []):
            shown = output.get("text") or output["data"].get("text/plain", [])
            if "image/png" not in output.get("data", {}):
                out.append(("".join(cell["source"]), "".join(shown)))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the outputs that the files hold")
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    try:
        import IPython  # noqa: F401
        import pandas  # noqa: F401
    except ImportError as missing:
        print(f"skipped=no {missing.name}")
        return 0
    wrong = 0
    for path in [f.resolve() for f in arguments.files] or sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        held = json.loads(path.read_text(encoding="utf-8"))
        book = run(path)
        if not arguments.check:
            path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            continue
        for (source, old), (_, new) in zip(texts(held), texts(book)):
            if old != new:
                wrong += 1
                print(f"{path.name}: {source.splitlines()[-1]}\nholds\n{old}\nprints\n{new}")
        if len(texts(held)) != len(texts(book)):
            wrong += 1
            print(f"{path.name}: holds {len(texts(held))} outputs, has {len(texts(book))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
