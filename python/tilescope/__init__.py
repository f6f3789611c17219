# SPDX-License-Identifier: Apache-2.0
"""Tilescope: describe a chip, and see how long it takes for operators and networks, and why.

>>> import tilescope as ts
>>> chip = ts.Chip("h200")
>>> work = ts.Operator("C[m,n] +=! A[m,k] * B[k,n]", m=1024, n=1024, k=1024, dtype="f16")
>>> best = ts.construct(work, chip, top=1)
>>> best[0].bottleneck != ""
True
"""
from ._chip import Chip, devices
from ._core import version as _version
from ._messages import InputError, Message, Note
from ._questions import Ranked, construct, explain, options, predict, simulate, verify
from ._sweep import Sweep, read, sweep
from ._table import Column, Row, Table
from ._work import Network, Operator, Programs, Suite, Work

__version__ = _version()

__all__ = [
    "Chip", "Column", "InputError", "Message", "Network", "Note", "Operator", "Programs", "Ranked", "Row", "Suite", "Sweep",
    "Table", "Work", "construct", "devices", "explain", "options", "predict", "read", "simulate", "sweep", "verify",
]
