# SPDX-License-Identifier: Apache-2.0
"""What can be asked about work on a chip."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _core
from ._chip import Chip
from ._messages import RawMessage, warn
from ._table import Row, Table
from ._work import Programs, Work

Question = Callable[[_core.Work, _core.Chip, Dict[str, Any]], Tuple[_core.Table, List[RawMessage]]]


def _ask(question: Question, work: Work, chip: Chip, options: Dict[str, Any]) -> _core.Table:
    table, messages = question(work._core, chip._core, options)
    if messages:
        warn(messages)
    return table


class Ranked(Table):
    """Programs with their predicted times; of every operator the best first. They can be asked about again."""

    def __init__(self, core: _core.Table, work: Work, chip: Chip) -> None:
        super().__init__(core, ("{} on {}", work, chip))
        self.work = work
        self.chip = chip

    def programs(self) -> Programs:
        """The programs as work of their own, for this chip or another one."""
        return Programs(self._core.programs(), f"{self.work._core.title()} for {self.chip.name}")

    def predict(self, chip: Optional[Chip] = None, **options: Any) -> Table:
        """Predicted times of these programs, on another chip if one is given."""
        return predict(self.programs(), chip or self.chip, **options)

    def simulate(self, chip: Optional[Chip] = None, **options: Any) -> Table:
        """Simulated times of these programs beside the predicted ones."""
        return simulate(self.programs(), chip or self.chip, **options)

    def verify(self, chip: Optional[Chip] = None, **options: Any) -> Table:
        """Whether these programs compute what their expressions say; takes a C++ compiler."""
        return verify(self.programs(), chip or self.chip, **options)

    def explain(self, **options: Any) -> Table:
        """How the times of the work depend on every number of the chip."""
        return explain(self.work, self.chip, **options)


def construct(work: Work, chip: Chip, *, judge: Optional[Callable[[Row], float]] = None, **options: Any) -> Ranked:
    """The best programs of every operator with predicted times; of a network, its groups of nodes.

    `options` are those of `options()`, such as top=10. With a `judge`, a cost model of the caller's own, the model's
    programs are ranked anew by what the judge returns for a row, least first.

    >>> import tilescope as ts
    >>> work = ts.Operator("C[m,n] +=! A[m,k] * B[k,n]", m=512, n=512, k=512)
    >>> best = ts.construct(work, ts.Chip("v100"), top=3)
    >>> len(best), best[0].predicted_us <= best[1].predicted_us
    (3, True)
    >>> best.columns["predicted_us"].unit
    'us'
    """
    ranked = Ranked(_ask(_core.construct, work, chip, options), work, chip)
    return ranked if judge is None else _Judged(ranked, judge)


def predict(work: Work, chip: Chip, **options: Any) -> Table:
    """Predicted times: of given programs, else of the best program of every operator."""
    table = _ask(_core.predict, work, chip, options)
    if isinstance(work, Programs):
        return Table(table, ("{} on {}", work, chip))
    return Ranked(table, work, chip)


def simulate(work: Work, chip: Chip, **options: Any) -> Table:
    """Simulated times, next to the predicted ones. Forks worker processes."""
    return Table(_ask(_core.simulate, work, chip, options), ("{} simulated on {}", work, chip))


def verify(work: Work, chip: Chip, **options: Any) -> Table:
    """Whether programs compute what their expressions say; takes a C++ compiler."""
    return Table(_ask(_core.verify, work, chip, options), ("{} verified for {}", work, chip))


def explain(work: Work, chip: Chip, **options: Any) -> Table:
    """How times depend on every number of the chip, strongest first."""
    return Table(_ask(_core.explain, work, chip, options), ("what decides {} on {}", work, chip))


def options() -> Table:
    """Every option of the questions, with its usual value and a sentence."""
    return Table(_core.options(), "options")


class _Judged(Ranked):
    """Programs in the order of a judge: rows of each operator by the judge's number, least first."""

    def __init__(self, ranked: Ranked, judge: Callable[[Row], float]) -> None:
        super().__init__(ranked._core, ranked.work, ranked.chip)
        self.judged = [judge(row) for row in ranked]
        ids = ranked["id"] if "id" in ranked.columns else [None] * len(ranked)
        first: Dict[Any, int] = {}
        for place, of in enumerate(ids):
            first.setdefault(of, place)
        self._order = sorted(range(len(ranked)), key=lambda place: (first[ids[place]], self.judged[place]))

    def _cell(self, row: int, name: str) -> Any:
        return super()._cell(self._order[row], name)

    def number(self, row: int, name: str) -> float:
        return super().number(self._order[row], name)

    def numbers(self, name: str) -> Any:
        return super().numbers(name)[self._order]

    def to_pandas(self) -> Any:
        return super().to_pandas().iloc[self._order].reset_index(drop=True)
