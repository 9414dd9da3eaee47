"""Errors while a program runs: RuntimeErrors that tell the lines of the source that it was compiled from."""

from __future__ import annotations

import linecache

from rushlight._engine.lazy import is_ours
from rushlight.jit.frontend import Error, Place

PLACES: dict[str, list[str]] = {}
"""Of each program's Python text, by its file's name: where its lines come from ("file:line:column")."""


def failed(error: Exception) -> Exception:
    """The error of a call from Python: RuntimeError, which tells where the program was."""
    ours = is_ours(type(error)) and not isinstance(error, RuntimeError)
    if ours or isinstance(error, Error):  # what stops a recording goes through; Error tells its place
        return error
    places_of, traceback = list[tuple[str, str]](), error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        places = PLACES.get(code.co_filename)
        if places is not None and any(places[traceback.tb_lineno - 2 : traceback.tb_lineno - 1]):
            places_of.append((places[traceback.tb_lineno - 2], code.co_name))
        traceback = traceback.tb_next
    message = f"KeyError: {error.args[0]}" if isinstance(error, KeyError) and error.args else error
    return RuntimeError(
        f"The following operation failed in the TorchScript interpreter.\n{_traceback(places_of)}"
        f"RuntimeError: {message}\n"
    )


def _traceback(places: list[tuple[str, str]]) -> str:
    """The places, first called first; of what an archive held, also where that stands in its code."""
    shown = "".join(_shown(place, function) for place, function in places)
    if not any(getattr(place, "written", "") for place, _ in places):
        return f"Traceback of TorchScript (most recent call last):\n{shown}"
    written = "".join(_shown(getattr(place, "written", "") or place, function) for place, function in places)
    return (
        f"Traceback of TorchScript, serialized code (most recent call last):\n{written}\n"
        f"Traceback of TorchScript, original code (most recent call last):\n{shown}"
    )


def _shown(place: str, function: str) -> str:
    """The lines of the source around, marked where it is."""
    if isinstance(place, Place) and getattr(place.node, "whole", False):
        return "".join(f"{line}\n" for line in place.source.lines)
    if isinstance(place, Place) and hasattr(place.node, "end_lineno"):
        return place.source.show(place.node, function)
    file, line, column = (*place.rsplit(":", 2), "0", "0")[:3]
    if not line.isdigit() or not column.isdigit():
        return f"  File {place!r}, in {function}\n"
    text = linecache.getline(file, int(line)).rstrip("\n")
    mark = " " * int(column) + "~" * max(len(text) - int(column), 1) + " <--- HERE\n"
    return f'  File "{file}", line {line}, in {function}\n{text}\n{mark}'
