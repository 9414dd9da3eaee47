"""Files under a folder, streams that pipes hand on, and whether a function takes its columns."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rushlight._engine.core.callers import warn

__all__ = [
    "StreamWrapper",
    "get_file_binaries_from_pathnames",
    "get_file_pathnames_from_root",
    "match_masks",
    "validate_input_col",
    "validate_pathname_binary_tuple",
]


def validate_input_col(fn: Callable[..., Any], input_col: Any) -> None:
    """ValueError where `fn` cannot be called with as many columns as `input_col` names."""
    try:
        params = inspect.signature(fn).parameters.values()
    except ValueError:  # of built-in functions nothing is known
        return
    called = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(called, "__name__", repr(called))
    count = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    by_place = [p for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p.name for p in params if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    needed = sum(p.default is p.empty for p in by_place)
    enough = any(p.kind is p.VAR_POSITIONAL for p in params) or count <= len(by_place)
    if named:
        raise ValueError(
            f"The function {name} takes {len(named)} non-default keyword-only parameters, which is not "
            "allowed."
        )
    if count < needed or not enough:
        what = "parameters" if count > len(params) else "positional parameters"
        raise ValueError(f"The function {name} takes {len(by_place)} {what}, but {count} are required.")


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a file's name matches one of the masks, such as "*.txt"; without masks each does."""
    several = [masks] if isinstance(masks, str) else masks
    return not masks or any(fnmatch.fnmatch(name, mask) for mask in several)


def _refuse(error: OSError) -> None:
    warn(f"{error.filename} : {error.strerror}")
    raise error


def get_file_pathnames_from_root(
    root: str,
    masks: str | list[str],
    recursive: bool = False,
    abspath: bool = False,
    non_deterministic: bool = False,
) -> Iterable[str]:
    """The files of a folder whose names match, sorted unless `non_deterministic`; of a file, itself."""
    if os.path.isfile(root):
        found = os.path.abspath(root) if abspath else root
        if match_masks(os.path.basename(found), masks):
            yield found
        return
    for folder, folders, files in os.walk(root, onerror=_refuse):
        above = os.path.abspath(folder) if abspath else folder
        if not non_deterministic:
            files.sort()
            folders.sort()
        yield from (os.path.join(above, name) for name in files if match_masks(name, masks))
        if not recursive:
            return


def get_file_binaries_from_pathnames(
    pathnames: Iterable[str], mode: str, encoding: str | None = None
) -> Iterator[tuple[str, StreamWrapper]]:
    """(path, opened file) of each path."""
    for path in [pathnames] if isinstance(pathnames, str) else pathnames:
        if not isinstance(path, str):
            raise TypeError(f"Expected string type for pathname, but got {type(path)}")
        way = "r" + mode if mode in ("b", "t") else mode
        yield path, StreamWrapper(open(path, way, encoding=encoding))  # noqa: SIM115  # whoever gets it closes it


def validate_pathname_binary_tuple(data: Any) -> None:
    """TypeError unless `data` is a pair of a path and a stream."""
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(
            f"pathname within the tuple should have string type pathname, but it is type {type(data[0])}"
        )
    if not hasattr(data[1], "read"):
        raise TypeError(
            f"binary stream within the tuple should have a read method, but it is {type(data[1])}"
        )


class StreamWrapper:
    """A stream that is closed when nobody has it any more; of a stream within another (an archive's), that
    one is closed after the last of them.
    """

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        self.file_obj, self.name = file_obj, name
        self.child_counter, self.close_on_last_child, self.closed = 0, False, False
        self.parent_stream = parent_stream
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} was given")
            parent_stream.child_counter += 1

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close the streams in dicts, lists and tuples, ten deep."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, (dict, list, tuple)):
            for part in v.values() if isinstance(v, dict) else v:
                cls.close_streams(part, depth + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the stream, and the one that it lies in after the last."""
        if self.closed:
            return
        self.closed = True
        above = self.parent_stream
        if above is not None:
            above.child_counter -= 1
            if not above.child_counter and above.close_on_last_child:
                above.close()
        close = getattr(self.file_obj, "close", None)
        if close is not None:
            close(*args, **kwargs)

    def autoclose(self) -> None:
        """Close after the last stream that lies in this one."""
        self.close_on_last_child = True
        if not self.child_counter:
            self.close()

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(type(self)), *dir(self.file_obj), "closed", "name"})

    def __del__(self) -> None:
        if not self.__dict__.get("closed", True):
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        if self.name is None:
            return f"StreamWrapper<{self.file_obj!r}>"
        return f"StreamWrapper<{self.name},{self.file_obj!r}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, obj: Any) -> None:
        self.__init__(obj)  # type: ignore[misc]
