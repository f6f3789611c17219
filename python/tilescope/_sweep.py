# SPDX-License-Identifier: Apache-2.0
"""Sweeps: many chips, each with its own best programs, in a store."""
from __future__ import annotations

import atexit
import json
import os
import tempfile
import threading
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple, Union

from . import _core
from ._messages import RawMessage, warn
from ._table import Row, Table


# Sweeps whose thread runs. The interpreter, where it ends, would take the thread out of the library's midst.
_running: Set[Sweep] = set()


@atexit.register
def _stop_all() -> None:
    for running in list(_running):
        running.stop()


class Sweep:
    """A sweep that runs. Iterating yields rows as they are computed; it ends with the sweep.

    Ctrl-C, leaving the loop over rows, and the end of the interpreter end the sweep in good order: rows that are finished
    stay in the store, and the same call goes on from there.
    """

    # The store is read again when this share of all rows is new.
    _STEP = 0.05
    # A number of rows that a loop waits for; without one a row wakes no thread.
    _wanted = float("inf")

    def __init__(self, file: str, store: str, title: str, options: Dict[str, Any]) -> None:
        self.store = store
        self.done = 0
        self.all = 0
        self.computed: Optional[int] = None
        self._title = title
        self._stop = False
        self._failed: Optional[BaseException] = None
        self._messages: List[RawMessage] = []
        self._moved = threading.Condition()
        self._ended = False
        self._options = options
        self._thread = threading.Thread(target=self._run, args=(file,), daemon=True)
        _running.add(self)
        self._thread.start()

    def _run(self, file: str) -> None:
        try:
            self.computed, self._messages = _core.sweep(file, self.store, self._options, self._progress)
        except BaseException as failed:  # which the reader raises
            self._failed = failed
        with self._moved:
            self._ended = True
            self._moved.notify_all()
        _running.discard(self)

    def _progress(self, done: int, all_rows: int) -> bool:
        self.done, self.all = done, all_rows
        if done >= self._wanted:
            with self._moved:
                self._moved.notify_all()
        return self._stop

    def _wait(self, seen: int) -> None:
        """Waits until the sweep ended or has enough rows that were not seen."""
        try:
            with self._moved:
                while not self._ended:
                    self._wanted = seen + max(1, self._STEP * self.all)
                    if self.done >= self._wanted:
                        break
                    self._moved.wait(0.2)
                self._wanted = float("inf")
        except KeyboardInterrupt:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the sweep in good order, and waits for its end."""
        self._stop = True
        self._thread.join()

    def wait(self) -> Sweep:
        """Waits for the end; raises what ended the sweep."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self.stop()
            raise
        warn(self._messages)
        if self._failed is not None:
            raise self._failed
        return self

    def __iter__(self) -> Iterator[Row]:
        try:
            yield from self._new_rows()
        finally:  # of the loop, which may be left early
            self.stop()

    def _new_rows(self) -> Iterator[Row]:
        seen: Set[Tuple[Any, Any]] = set()
        while True:
            self._wait(len(seen))
            ended = self._ended
            if ended:
                self.wait()
            for row in self._rows():
                key = (row["point"], row["workload"])
                if key in seen or (row["predicted_us"] is None and row["simulated_us"] is None and row["error"] is None):
                    continue
                seen.add(key)
                yield row
            if ended:
                return

    def _rows(self) -> List[Row]:
        if not os.path.exists(self.store):
            return []
        return list(read(self.store, self._title))

    def table(self) -> Table:
        """Waits for the end, and returns all rows of the store."""
        return read(self.wait().store, self._title)

    def __repr__(self) -> str:
        state = "ended" if self._ended else "running"
        return f"Sweep({self.store!r}, {state}, {self.done} of {self.all} rows)"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_() if self._ended and self._failed is None else f"<code>{self!r}</code>"

    def plot(self, x: str = "", y: str = "predicted_us") -> Any:
        """Draws every point's sum of weight times `y` over the axis `x`, the first one that varies if none is given.

        Returns matplotlib's axes.
        """
        import matplotlib.pyplot as plot

        frame = self.table().to_pandas()
        if not x:
            names = [n for n in frame.columns if "." in n and frame[n].nunique() > 1]
            x = names[0] if names else "point"
        frame["_total"] = frame[y] * frame["weight"]
        totals = frame[~frame["is_base"]].groupby("point").agg({x: "first", "_total": "sum"}).sort_values(x)
        _, axes = plot.subplots()
        axes.plot(totals[x], totals["_total"], "o")
        axes.set_xlabel(x)
        axes.set_ylabel(f"{y}, weighted sum")
        return axes


def sweep(spec: Union[str, Mapping[str, Any]], store: str, *, title: str = "", **options: Any) -> Sweep:
    """Runs a sweep into a store, or goes on with it: a YAML file, or its contents as a mapping.

    A relative path in a mapping is one of the current folder.
    """
    if isinstance(spec, str):
        return Sweep(spec, store, title, options)
    # The store names the file that the sweep came from, so that it stays beside the store.
    path = os.path.abspath(store) + ".yaml"
    text = json.dumps(spec, indent=1)
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), suffix=".yaml", delete=False) as file:
        file.write(text)
    os.replace(file.name, path)
    return Sweep(path, store, title, options)


def read(store: str, title: str = "") -> Table:
    """All rows of a stored sweep, with the columns of `tilescope export`. The title is needed where there are several."""
    return Table(_core.read(store, title), store)
