# SPDX-License-Identifier: Apache-2.0
"""Rows of a device: JSON lines, of which a file keeps the last of each key."""

import json


def parsed(line):
    """The row of a line; None where the line was cut off, or is none."""
    try:
        row = json.loads(line)
        return row if isinstance(row, dict) and "key" in row else None
    except json.JSONDecodeError:
        return None


def read(file):
    """Rows by their key, in the order in which they came."""
    if not file.exists():
        return {}
    rows = map(parsed, file.read_text(encoding="utf-8").splitlines())
    return {row["key"]: row for row in rows if row is not None}


def text(row):
    return json.dumps(row, separators=(",", ":")) + "\n"


def add(file, new):
    """Adds rows. After a last line that was cut off they begin a new one."""
    cut_off = file.exists() and file.stat().st_size > 0 and not file.read_bytes().endswith(b"\n")
    with file.open("a", encoding="utf-8") as to:
        if cut_off:
            to.write("\n")
        for row in new:
            to.write(text(row))


def keep(file, to):
    """Adds the rows of a file that another one lacks, or has as failed; how many, and how many there are then."""
    there = read(to)
    new = {key: row for key, row in read(file).items()
           if key not in there or ("error" in there[key] and row != there[key])}
    add(to, new.values())
    return len(new), len({**there, **new})


def file_name(device):
    return "-".join(device.lower().replace("/", "-").split()) + ".jsonl"


def device_files(folder):
    return sorted(folder.glob("*.jsonl"))
