#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts program documents and batch lines of format 1 to format 2 (docs/json.md).

    tools/format2.py < OLD > NEW

Reads one document, or one document a line; what is of format 2 already is left as it is. Import `format2`.
"""

import json
import sys

RENAMED = {"staged": "cached", "swizzle": "rotate", "pipeline": "num_stages", "raster": "order", "band": "group_m",
           "instruction": "mma"}
FACTORS = {"virtual": "vthread", "serial": "per_thread"}
COPIES = {"chunked": "blocked", "interleaved": "striped"}


def node2(node):
    """A node, or a batch line that is one."""
    out = {}
    copy = {tensor: COPIES.get(how, how) for tensor, how in node.get("copy", {}).items()}
    boxes = {tensor: box for tensor, box in node.get("boxes", {}).items() if box}
    copy.update({tensor: "tma" for tensor in boxes})
    for key, value in node.items():
        if key == "mapping":
            out[key] = {axis: {FACTORS.get(k, k): n for k, n in factors.items()} for axis, factors in value.items()}
        elif key == "order" and isinstance(value, list):
            out["reduction_order"] = value
        elif key not in ("copy", "boxes"):
            out[RENAMED.get(key, key)] = value
    if copy:
        out["copy"] = copy
    if boxes:
        out["box"] = boxes
    return out


def format2(document):
    """A program, or a line of a batch."""
    if document.get("format") == 2:
        return document
    if "stages" not in document:
        return {"format": 2, **node2(document)}
    nodes = [node2(node) for node in document["stages"]]
    return {"format": 2, **{("nodes" if k == "stages" else k): (nodes if k == "stages" else v)
                            for k, v in document.items()}}


def main():
    text = sys.stdin.read()
    try:
        print(json.dumps(format2(json.loads(text))))
    except json.JSONDecodeError:
        for line in text.splitlines():
            if line.strip():
                print(json.dumps(format2(json.loads(line)), separators=(",", ":")))


if __name__ == "__main__":
    main()
