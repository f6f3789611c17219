#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts program documents and batch lines of formats 1 and 2 to format 3 (docs/json.md).

    tools/format3.py < OLD > NEW

Reads one document, or one document a line; a document of format 3 is left as it is. Import `format3`.
"""

import json
import sys

RENAMED = {"staged": "cached", "swizzle": "rotate", "pipeline": "num_stages", "raster": "order", "band": "group_m",
           "instruction": "mma"}
FACTORS = {"virtual": "vthread", "serial": "per_thread"}
BSP_RENAMED = {"moves": "dataflow", "placed": "inputs_prearranged", "homes": "tensor_location"}
DATAFLOWS = {"hold": "stationary", "rotate": "shift"}
COPIES = {"chunked": "blocked", "interleaved": "striped"}


def node2(node):
    """A node of threads of format 1, or a batch line that is one, in format 2 and 3."""
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


def bsp_node3(node):
    """A node of a chip whose cores exchange, of format 2."""
    out = {BSP_RENAMED.get(key, key): value for key, value in node.items()}

    def how3(how):
        return DATAFLOWS.get(how, how) if isinstance(how, str) else {DATAFLOWS.get(k, k): v for k, v in how.items()}

    if "dataflow" in out:
        out["dataflow"] = {tensor: how3(how) for tensor, how in out["dataflow"].items()}
    return out


def format3(document):
    """A program, or a line of a batch."""
    version = document.get("format", 1)
    if version == 3:
        return document

    def node3(node):
        return bsp_node3(node) if "grid" in node else node2(node) if version == 1 else node

    nodes_key = "stages" if "stages" in document else "nodes"
    if nodes_key not in document:
        return {**node3(document), "format": 3}
    rest = {("nodes" if k == nodes_key else k): v for k, v in document.items()}
    return {**rest, "format": 3, "nodes": [node3(node) for node in document[nodes_key]]}


def main():
    text = sys.stdin.read()
    try:
        print(json.dumps(format3(json.loads(text))))
    except json.JSONDecodeError:
        for line in text.splitlines():
            if line.strip():
                print(json.dumps(format3(json.loads(line)), separators=(",", ":")))


if __name__ == "__main__":
    main()
