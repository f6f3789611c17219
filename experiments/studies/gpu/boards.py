# SPDX-License-Identifier: Apache-2.0
"""Which chip file describes a board: the key `board` of a file is the name that the vendor's driver gives it."""

import pathlib
import re

DEVICES = pathlib.Path(__file__).resolve().parents[3] / "arch/devices"


def short(board):
    """Drivers of some years put the vendor's name before a board's, others do not."""
    return board.removeprefix("NVIDIA ")


def chips():
    """Chip files' names by board; lines are read as text, for a machine with a GPU may have no reader of YAML."""
    out = {}
    for file in sorted(DEVICES.glob("*.yaml")):
        board = re.search(r"(?m)^board: *([^#\n]*?) *(?:#.*)?$", file.read_text(encoding="utf-8"))
        if board:
            out[short(board[1])] = file.stem
    return out


def chip_of(board):
    return chips().get(short(board))
