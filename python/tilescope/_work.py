# SPDX-License-Identifier: Apache-2.0
"""What a chip is to compute."""
from __future__ import annotations

from typing import Optional

from . import _core


def _sizes(sizes: dict[str, int]) -> str:
    return ",".join(f"{axis}={size}" for axis, size in sizes.items())


class Work:
    """Operators, networks or programs; made by its subclasses."""

    _core: _core.Work

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._core.title()!r})"


class Operator(Work):
    """An operator in index notation, with the range of every axis.

    >>> import tilescope as ts
    >>> ts.Operator("C[m,n] +=! A[m,k] * B[k,n]", m=512, n=512, k=512, dtype="f16")
    Operator('C[m,n] +=! A[m,k] * B[k,n] with m=512,n=512,k=512 in f16')
    """

    def __init__(self, expression: str, *, dtype: Optional[str] = None, shapes: Optional[str] = None, **sizes: int) -> None:
        self._core = _core.Work.op(expression, _sizes(sizes), dtype or "", shapes or "")


class Suite(Work):
    """A suite of operators by its name or YAML file, with values of its variables."""

    def __init__(self, name_or_file: str, *, dtype: Optional[str] = None, **sizes: int) -> None:
        self._core = _core.Work.suite(name_or_file, _sizes(sizes), dtype or "")


class Network(Work):
    """A network by its name, its YAML file or its ONNX file, with values of its variables."""

    def __init__(self, name_or_file: str, *, dtype: Optional[str] = None, **sizes: int) -> None:
        self._core = _core.Work.network(name_or_file, _sizes(sizes), dtype or "")


class Programs(Work):
    """Programs that exist: JSON lines, a program each, as `compile -o` and `Ranked.programs()` write them."""

    def __init__(self, json_lines: str, name: str = "programs") -> None:
        self._core = _core.Work.programs(json_lines, name)
