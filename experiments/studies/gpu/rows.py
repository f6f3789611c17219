# SPDX-License-Identifier: Apache-2.0
"""Rows of a device: JSON lines, of which a file keeps the last of each key."""

import json


def parsed(line):
    """The row of a line; None where the line was cut off, or is none."""
    try:
        row = json.loads(line)
        return row if isinstance(row, dict) and isinstance(row.get("key"), str) and "id" in row else None
    except json.JSONDecodeError:
        return None


def read(file):
    """Rows by their key, in the order in which they came."""
    if not file.exists():
        return {}
    rows = map(parsed, file.read_text(encoding="utf-8", errors="replace").splitlines())
    return {row["key"]: row for row in rows if row is not None}


def text(row):
    return json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n"


def add(file, new):
    """Adds rows; a last line that was cut off is dropped, as tilescope_gpu does."""
    with file.open("ab+") as to:
        to.seek(0)
        kept = to.read()
        to.truncate(kept.rfind(b"\n") + 1)
        to.write("".join(map(text, new)).encode())


def keep(file, folder):
    """Adds the rows of a file to those of their devices: rows that these lack or have as failed. Per device: the file's
    name, how many were added, how many it has then."""
    by_device = {}
    for key, row in read(file).items():
        by_device.setdefault(file_name(row.get("device", file.stem)), {})[key] = row
    out = []
    for name, rows in by_device.items():
        there = read(folder / name)
        new = {key: row for key, row in rows.items()
               if key not in there or ("error" in there[key] and row != there[key])}
        add(folder / name, new.values())
        out.append((name, len(new), len({**there, **new})))
    return out


def file_name(device):
    return "-".join(device.lower().replace("/", "-").split()) + ".jsonl"


def device_files(folder):
    return sorted(folder.glob("*.jsonl"))
