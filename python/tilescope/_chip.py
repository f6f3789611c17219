# SPDX-License-Identifier: Apache-2.0
"""Chips."""
from __future__ import annotations

import json
from typing import Any, Union

from . import _core
from ._messages import warn
from ._table import Table

Value = Union[bool, int, float, str]


class Chip:
    """A chip: a device by its name (`devices()`), or a YAML file. Items are values by their paths, as `--set` has them.

    >>> import tilescope as ts
    >>> chip = ts.Chip("v100")
    >>> chip["memory.smem.banks"]
    32
    >>> chip["memory.smem.banks"] = 64
    >>> chip["memory.smem.banks"]
    64
    """

    def __init__(self, name_or_file: str) -> None:
        self._core = _core.Chip(name_or_file)
        warn(self._core.notes())

    @classmethod
    def read(cls, yaml: str, name: str = "chip") -> Chip:
        """The chip of a YAML text, which messages call `name`."""
        out = cls.__new__(cls)
        out._core = _core.Chip.read(yaml, name)
        return out

    def copy(self) -> Chip:
        """A chip of its own with the same values."""
        out = Chip.__new__(Chip)
        out._core = _core.Chip(self._core)
        return out

    def with_(self, **values: Value) -> Chip:
        """A copy with changed values; two underscores stand for a dot: with_(memory__smem__banks=64)."""
        out = self.copy()
        for path, value in values.items():
            out[path.replace("__", ".")] = value
        return out

    @property
    def name(self) -> str:
        return self._core.name()

    def __getitem__(self, path: str) -> Any:
        return json.loads(self._core.value(path))

    def __setitem__(self, path: str, value: Value) -> None:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        self._core.set(path, text)
        warn(self._core.notes())

    def document(self) -> Any:
        """The whole chip with what is derived, as `tilescope arch show --json` prints it."""
        return json.loads(self._core.document())

    @property
    def area(self) -> Table:
        """The parts of the chip's dies in mm2; InputError where its file has no `die`."""
        return Table(self._core.area(), f"area of {self.name}")

    @property
    def area_mm2(self) -> float:
        """Area of all dies."""
        return float(self.area.document()["total_mm2"])

    @property
    def price(self) -> Table:
        """The parts of the chip's price in USD; InputError where its file has no `die`."""
        return Table(self._core.price(), f"price of {self.name}")

    @property
    def price_usd(self) -> float:
        """Price of the chip."""
        return float(self.price.document()["total_usd"])

    def __repr__(self) -> str:
        return f"Chip({self.name!r})"


def devices() -> Table:
    """The chips that come with Tilescope.

    >>> import tilescope as ts
    >>> "h200" in ts.devices()["device"]
    True
    """
    return Table(_core.devices(), "devices")
