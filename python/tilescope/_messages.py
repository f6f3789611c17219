# SPDX-License-Identifier: Apache-2.0
"""Mistakes in inputs, and notes, each with its place."""
from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Iterable, List, Tuple

RawMessage = Tuple[bool, str, int, int, str]


@dataclass(frozen=True)
class Message:
    """What is wrong with an input, or a note. Line 0 is the input as a whole; columns count bytes from 1."""

    is_error: bool
    file: str
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.text}"


class InputError(ValueError):
    """An input has mistakes; `messages` has all of them, and `file`, `line` and `column` are the first one's.

    >>> import tilescope as ts
    >>> try:
    ...     ts.Chip("h2000")
    ... except ts.InputError as e:
    ...     "did you mean" in str(e), e.file
    (True, 'h2000')
    """

    def __init__(self, raw: Iterable[RawMessage]) -> None:
        self.messages: List[Message] = [Message(*m) for m in raw]
        errors = [m for m in self.messages if m.is_error]
        super().__init__("\n".join(str(m) for m in errors))
        first = errors[0] if errors else Message(True, "tilescope", 0, 0, "")
        self.file, self.line, self.column = first.file, first.line, first.column

    def __reduce__(self) -> Tuple[type, Tuple[List[RawMessage]]]:
        return InputError, ([(m.is_error, m.file, m.line, m.column, m.text) for m in self.messages],)


class Note(UserWarning):
    """What the author of an input should know; no mistake."""


def warn(raw: List[RawMessage]) -> None:
    """Warns of every note among the messages, at the line that called this package."""
    if not raw:
        return
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        depth, frame = depth + 1, frame.f_back
    for m in raw:
        message = Message(*m)
        if not message.is_error:
            warnings.warn(str(message), Note, stacklevel=depth)
