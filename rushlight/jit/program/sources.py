"""Where a file's code comes from: the records that archives hold beside it (`x.py.debug_pkl`).

A record says: what stands in the code from this byte on was compiled from these characters of that text.
"""

from __future__ import annotations

import ast
import bisect
import pickle
import struct
from itertools import accumulate
from typing import Any

from rushlight.jit.frontend import Place, Source

_FORMAT = "FORMAT_WITH_STRING_TABLE"


class Span:
    """A place in a text, as a syntax tree's node tells it."""

    def __init__(self, text: _Text, begin: int, end: int) -> None:
        self.lineno, self.col_offset = text.position(begin)
        self.end_lineno, self.end_col_offset = text.position(max(begin, end))
        self.whole = begin == 0 and end == text.length  # of a trace: the calls of Python, one a line


class _Text:
    """A text that records point into, its lines counted once."""

    def __init__(self, text: str, file: str, first: int) -> None:
        self.source, self.length = Source(text, file, first), len(text)
        self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n")[:-1])]

    def position(self, offset: int) -> tuple[int, int]:
        """(line, column) of a character."""
        line = bisect.bisect_right(self._starts, min(max(offset, 0), self.length))
        return line, offset - self._starts[line - 1]


class SavedSource(Source):
    """The code of an archive; `records` say where it comes from."""

    def __init__(self, text: str, file: str, records: bytes | None) -> None:
        super().__init__(text, file)
        self._starts = [0]
        for line in text.encode().split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._records = [] if records is None else _read(records)
        self._offsets = [record[0] for record in self._records]
        self._texts: dict[tuple[str, str, int], _Text] = {}

    def place(self, node: Any) -> str:
        """Where a node was compiled from, if the archive says it; `written` is where it is in the archive."""
        here = super().place(node)
        line = getattr(node, "lineno", 1)
        offset = self._starts[min(line, len(self._starts)) - 1] + getattr(node, "col_offset", 0)
        found = bisect.bisect_right(self._offsets, offset) - 1
        if found < 0 or not self._records[found][2]:
            return here
        _, text, file, first, begin, end = self._records[found]
        held = self._texts.get((text, file, first))
        if held is None:
            held = self._texts[text, file, first] = _Text(text, file, first)
        span = Span(held, begin, end)
        place = Place(f"{file}:{first + span.lineno - 1}:{span.col_offset}" if file else ":0:0")
        place.source, place.node, place.written = held.source, span, here
        return place

    def raised(self, node: Any, function: str) -> str:
        """What an exception of a program tells: its place in the archive's code, and where that is from."""
        found = self.place(node)
        if not isinstance(found, Place) or not found.written:
            return super().raised(node, function)
        return (
            "Traceback of TorchScript, serialized code (most recent call last):\n"
            f"{self.show(node, function)}\nTraceback of TorchScript, original code (most recent call last):\n"
            f"{found.source.show(found.node, function)}"
        )


def _read(data: bytes) -> list[tuple[int, str, str, int, int, int]]:
    """(offset in the code, text, file, its first line's number, begin, end in the text) of each record."""
    try:
        found = _Plain(data).load()
        if found[0] != _FORMAT:
            return []
        texts, records, joined = found[1], found[2], dict[tuple[int, ...], str]()
        for _, ((parts, _, _), _, _), _ in records:
            if tuple(parts) not in joined:
                joined[tuple(parts)] = "".join(texts[i] for i in parts)
        return [
            (offset, joined[tuple(parts)], texts[file], first, begin, end)
            for offset, ((parts, file, first), begin, end), _ in records
        ]
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, TypeError, KeyError):
        return []  # without them, the archive's code itself is shown


class _Plain:
    """Reads a pickle of tuples, numbers and texts, and of lists of numbers in TorchScript's form."""

    def __init__(self, data: bytes) -> None:
        import io

        class Reader(pickle.Unpickler):
            """Takes one name."""

            def find_class(self, module: str, name: str) -> Any:
                """The form of lists of numbers."""
                if (module, name) != ("torch.jit._pickle", "build_intlist"):
                    raise pickle.UnpicklingError(f"{module}.{name} is not part of such a record")
                return list

        self.load = Reader(io.BytesIO(data)).load


class Records:
    """What is known of one file's code while it is written."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {"": 0}
        self._records: list[tuple[int, tuple[tuple[list[int], int, int], int, int]]] = []

    def add(self, offset: int, lines: list[str], places: list[str]) -> None:
        """Lines of code that begin at a byte, and where each comes from."""
        last: Any = None
        for line, place in zip(lines, places, strict=True):
            told = self._told(place)
            if told != last:
                indent = len(line) - len(line.lstrip())
                self._records.append((offset + indent, told))
                last = told
            offset += len(line.encode()) + 1

    def _told(self, place: str) -> tuple[tuple[list[int], int, int], int, int]:
        if not place:
            return ([], 0, 0), 0, 0
        if isinstance(place, Place) and hasattr(place.node, "lineno"):
            source, node = place.source, place.node
            lines = [source.indent + line if line else line for line in source.lines]
            first, file = source.first, source.file
            begin = _offset(lines, node.lineno, len(source.indent) + node.col_offset)
            last = getattr(node, "end_lineno", None) or node.lineno
            whole = isinstance(node, (ast.FunctionDef, ast.If, ast.For, ast.While, ast.With))
            column = len(source.indent) + (getattr(node, "end_col_offset", None) or node.col_offset)
            end = begin + len(lines[node.lineno - 1]) if whole else _offset(lines, last, column)
        else:
            file, number = (*place.rsplit(":", 2), "", "")[:2]
            if not number.isdigit():
                return ([], 0, 0), 0, 0
            lines, first = [f"{file}({number})"], int(number)
            begin, end = 0, len(lines[0]) + 1
        parts = [self._number(line + "\n") for line in lines]
        return (parts, self._number(file), first), begin, end

    def _number(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def finish(self) -> bytes:
        """The records as archives hold them."""
        out = [b"\x80\x02", _text(_FORMAT), b"("]
        out += map(_text, self._texts)
        out += [b"t("]
        for tag, (offset, ((parts, file, first), begin, end)) in enumerate(self._records):
            numbers = b"".join(map(_number, parts))
            out += [_number(offset), b"ctorch.jit._pickle\nbuild_intlist\n(](", numbers, b"etR"]
            out += [_number(file), _number(first), b"\x87", _number(begin), _number(end), b"\x87"]
            out += [_number(tag), b"\x87"]
        return b"".join([*out, b"t\x87."])


def _offset(lines: list[str], line: int, column: int) -> int:
    return sum(len(text) + 1 for text in lines[: line - 1]) + column


def _number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def _text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


__all__ = ["Records", "SavedSource"]
