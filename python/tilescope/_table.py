# SPDX-License-Identifier: Apache-2.0
"""Tables: the answers to questions, as rows with attributes, as columns, and as pandas DataFrames."""
from __future__ import annotations

import html
import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union, overload

from . import _core

if TYPE_CHECKING:
    import numpy
    import pandas

    from ._chip import Chip
    from ._work import Work

    # A text, or a form for the titles of work and chip: making those takes longer than reading a cell.
    Title = Union[str, Tuple[str, Work, Chip]]

# The kinds of cells, as enum tilescope_kind has them.
_NUMBER, _INTEGER, _TRUTH, _TEXT, _DOCUMENT = 1, 2, 3, 4, 5

# What a table shows of itself, where it has these columns; all others are read by name.
_SHOWN = (
    "id", "kind", "device", "title", "option", "usual", "group", "part", "workload", "rank", "point", "block_tile", "thread_tile", "layout",
    "nodes", "path", "value", "changed", "elasticity", "energy_elasticity", "mm2", "usd", "share", "predicted_us", "simulated_us",
    "measured_us", "energy_uj", "bottleneck", "correct", "counters_ok", "about", "error",
)
_ROWS_SHOWN = 30
_CELLS_OF_THREADS = 1_000_000  # threads copy columns of larger tables


class Column(NamedTuple):
    """A column: its name, which ends in its unit, the unit, and a sentence."""

    name: str
    unit: str
    about: str


class Row:
    """A row of a table. Its cells are attributes, and items by their names."""

    __slots__ = ("_table", "_place")

    def __init__(self, table: Table, place: int) -> None:
        self._table = table
        self._place = place

    def __getitem__(self, name: str) -> Any:
        return self._table._cell(self._place, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as missing:
            raise AttributeError(missing.args[0]) from None

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._table.columns]

    def as_dict(self) -> Dict[str, Any]:
        """All cells that the row has, by name."""
        cells = {name: self[name] for name in self._table.columns}
        return {name: value for name, value in cells.items() if value is not None}

    def __repr__(self) -> str:
        cells = ", ".join(f"{name}={_text(self[name])}" for name in self._table._shown() if self[name] is not None)
        return f"Row({cells})"


class Table(Sequence[Row]):
    """The answer to a question: a sequence of rows. A name as an index is a whole column."""

    _columns: Optional[Dict[str, Column]] = None  # as are the places of columns, made when they are asked for
    _places: Optional[Dict[str, int]] = None

    def __init__(self, core: _core.Table, title: Title = "") -> None:
        self._core = core
        self._named = title

    @property
    def _title(self) -> str:
        if isinstance(self._named, str):
            return self._named
        form, work, chip = self._named
        return form.format(work._core.title(), chip.name)

    @property
    def columns(self) -> Dict[str, Column]:
        """The columns by name, in order."""
        if self._columns is None:
            self._columns = {name: Column(name, unit, about) for name, unit, about in self._core.columns()}
        return self._columns

    def __len__(self) -> int:
        return self._core.rows()

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> List[Row]: ...
    @overload
    def __getitem__(self, at: str) -> List[Any]: ...

    def __getitem__(self, at: Union[int, slice, str]) -> Union[Row, List[Row], List[Any]]:
        if isinstance(at, str):
            return [self._cell(r, at) for r in range(len(self))]
        places = range(len(self))[at]
        return Row(self, places) if isinstance(places, int) else [Row(self, p) for p in places]

    def __iter__(self) -> Iterator[Row]:
        return (Row(self, place) for place in range(len(self)))

    def number(self, row: int, name: str) -> float:
        """A number of a row, not-a-number where there is none. Faster than row.name for a table of which little is read."""
        return self._core.number(row, name)

    def numbers(self, name: str) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
        """A column of numbers as an array, not-a-number where a cell is none."""
        return self._core.numbers(self._place_of(name))

    def document(self) -> Any:
        """The whole answer, as `tilescope --json` prints it."""
        return json.loads(self._core.document())

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a DataFrame. `attrs["units"]` and `attrs["about"]` have the unit and the sentence of each column."""
        import pandas

        frame = pandas.DataFrame(dict(zip(self.columns, self._all_series())), copy=False)
        frame.attrs["units"] = {c.name: c.unit for c in self.columns.values() if c.unit}
        frame.attrs["about"] = {c.name: c.about for c in self.columns.values()}
        return frame

    def _all_series(self) -> List[Any]:
        places = range(len(self.columns))
        if len(self) * len(places) < _CELLS_OF_THREADS:
            return [self._series(place) for place in places]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return list(threads.map(self._series, places))

    def _series(self, place: int) -> Any:
        import numpy
        import pandas

        kinds = self._core.kinds(place)
        if kinds and not kinds & ~(1 << _TEXT | 1 << _DOCUMENT):
            codes, texts = self._core.texts(place)
            return pandas.Categorical.from_codes(codes, categories=texts)
        numbers = self._core.numbers(place)
        if kinds in (1 << _TRUTH, 1 << _INTEGER) and not numpy.isnan(numbers).any():
            return numbers.astype(bool if kinds == 1 << _TRUTH else numpy.int64)
        if kinds == 1 << _TRUTH:
            return pandas.array(numbers, dtype="boolean")
        if not kinds & ~(1 << _NUMBER | 1 << _INTEGER):
            return numbers
        return [self._core.cell(r, place) for r in range(len(self))]

    def _place_of(self, name: str) -> int:
        if self._places is None:
            self._places = {}
        place = self._places.get(name)
        if place is None:
            place = self._core.find(name)
        if place is None:
            import difflib

            close = difflib.get_close_matches(name, self.columns, 1)
            raise KeyError(f"the table has no column {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
        self._places[name] = place
        return place

    def _cell(self, row: int, name: str) -> Any:
        return self._core.cell(row, self._place_of(name))

    def _shown(self) -> List[str]:
        return [name for name in _SHOWN if name in self.columns] or list(self.columns)[:8]

    def _lines(self) -> List[List[str]]:
        names = [name for name in self._shown() if any(self[r][name] is not None for r in range(min(len(self), _ROWS_SHOWN)))]
        return [names, *([_text(row[name]) for name in names] for row in self[:_ROWS_SHOWN])]

    def _rest(self) -> str:
        return f"{len(self) - _ROWS_SHOWN} more rows" if len(self) > _ROWS_SHOWN else ""

    def __repr__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[c]) for line in lines) for c in range(len(lines[0]))]
        text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
        return "\n".join(part for part in (self._title, *text, self._rest()) if part)

    def _repr_html_(self) -> str:
        names, *rows = self._lines()

        def cells(tag: str, texts: List[str], hints: Optional[List[str]] = None) -> str:
            titles = [f' title="{html.escape(h)}"' for h in hints] if hints else [""] * len(texts)
            return "<tr>" + "".join(f"<{tag}{t}>{html.escape(x)}</{tag}>" for x, t in zip(texts, titles)) + "</tr>"

        head = cells("th", names, [self.columns[name].about for name in names])
        body = "".join(cells("td", row) for row in rows)
        caption = f"<caption>{html.escape(self._title)}</caption>" if self._title else ""
        return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>{html.escape(self._rest())}"


def _text(value: Any) -> str:
    """A cell for people: numbers with four digits."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
