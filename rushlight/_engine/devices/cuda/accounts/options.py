"""What PYTORCH_ALLOC_CONF says to allocators, by PyTorch's options and words."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rushlight._engine.core import accelerator

MIB = 1 << 20
# Of how many powers of two, from 1 MiB on, the steps between may be set.
_POWERS = 16
_LEAST = 20  # MiB of a limit
_MOST_THREADS = 128
_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")


@dataclass
class Options:
    """How requests are rounded, and blocks split. divisions: by powers of two from 1 MiB on, 0 for none.

    What of PyTorch's is not here has no effect: memory that grows (expandable_segments), what is collected
    beyond a threshold, how page-locked memory is made.
    """

    text: str = ""
    max_split_size: int = sys.maxsize
    max_non_split_rounding: int = _LEAST * MIB
    garbage_collection_threshold: float = 0.0
    divisions: tuple[int, ...] = (0,) * _POWERS
    expandable_segments: bool = False
    release_lock_on_cudamalloc: bool = False
    pinned_use_cuda_host_register: bool = False
    per_process_memory_fraction: float = 1.0

    @property
    def plain(self) -> bool:
        """Whether blocks are rounded and split as they always are."""
        return self.max_split_size == sys.maxsize and not any(self.divisions)

    @property
    def split_limit(self) -> int:
        """max_split_size as figures show it: -1 for none."""
        return -1 if self.max_split_size == sys.maxsize else self.max_split_size

    def rounded(self, size: int) -> int:
        """A request's size by the steps between powers of two; 0 where there are none for it."""
        power = size.bit_length() - 1
        steps = self.divisions[min(max(power - 20, 0), _POWERS - 1)]
        if steps <= 1 or size <= 512 * steps:
            return 0
        step = (1 << power) // steps
        return -(-size // step) * step

    def fits(self, size: int, block: int) -> bool:
        """Whether a request may have a free block of this size, of a large one what it does not need, too."""
        if size < self.max_split_size:
            return block < self.max_split_size
        return block < size + self.max_non_split_rounding


class Current:
    """The options of all allocators; `special`: those by which blocks are rounded or split."""

    options = Options()
    special: Options | None = None


def use(options: Options) -> None:
    """Let all allocators go by these from now on."""
    Current.options, Current.special = options, None if options.plain else options


def _flag(words: list[str]) -> bool:
    if words not in (["True"], ["False"]):
        raise ValueError(f"Expected 'True' or 'False' in ConfigTokenizer but got '{''.join(words)}'")
    return words == ["True"]


def _one(words: list[str]) -> str:
    if len(words) != 1:
        raise ValueError(f"Expected one value in ConfigTokenizer but got '{''.join(words)}'")
    return words[0]


def _at_least(name: str) -> Callable[[list[str]], int]:
    def read(words: list[str]) -> int:
        found = int(_one(words))
        if found < _LEAST:
            raise ValueError(f"CachingAllocator option {name} too small, must be >= {_LEAST}")
        return found * MIB

    return read


def _threshold(words: list[str]) -> float:
    found = float(_one(words))
    if not 0 < found < 1:
        raise ValueError("garbage_collect_threshold is invalid, set it in (0.0, 1.0)")
    return found


def _fraction(words: list[str]) -> float:
    found = float(_one(words))
    if not 0 <= found <= 1:
        raise ValueError(f"per_process_memory_fraction is invalid, set it in [0.0, 1.0]: {found}")
    return found


def _is_power(number: int) -> bool:
    return number > 0 and not number & (number - 1)


def _threads(words: list[str]) -> int:
    found = int(_one(words))
    if not _is_power(found):
        raise ValueError("Number of register threads has to be power of 2")
    if found > _MOST_THREADS:
        raise ValueError(f"Number of register threads should be less than or equal to {_MOST_THREADS}")
    return found


def _divisions(words: list[str]) -> tuple[int, ...]:
    if words[:1] != ["["]:
        steps = int(_one(words))
        if not _is_power(steps):
            raise ValueError("For roundups, the divisions has to be power of 2 ")
        return (steps,) * _POWERS
    found, last, first = [0] * _POWERS, -1, True
    for limit, value in re.findall(r"(>|\d+):(\d+)", "".join(words)):
        steps = int(value)
        if steps and not _is_power(steps):
            raise ValueError("For roundups, the divisions has to be power of 2 or 0 to disable roundup ")
        if limit == ">":
            found[last + 1 :] = [steps] * (_POWERS - last - 1)
            continue
        if not _is_power(int(limit)):
            raise ValueError("For roundups, the intervals have to be power of 2 ")
        last = min(int(limit).bit_length() - 1, _POWERS - 1)
        if first:
            found[:last], first = [steps] * last, False
        found[last] = steps
    return tuple(found)


# PyTorch's names: what reads a value, and which of Options it is, None for what has no effect.
_READ: dict[str, tuple[Callable[[list[str]], Any], str | None]] = {
    "max_split_size_mb": (_at_least("max_split_size_mb"), "max_split_size"),
    "max_non_split_rounding_mb": (_at_least("max_non_split_rounding_mb"), "max_non_split_rounding"),
    "garbage_collection_threshold": (_threshold, "garbage_collection_threshold"),
    "roundup_power2_divisions": (_divisions, "divisions"),
    "per_process_memory_fraction": (_fraction, "per_process_memory_fraction"),
    "pinned_num_register_threads": (_threads, None),
    "pinned_reserve_segment_size_mb": (lambda words: int(_one(words)), None),
    "large_segment_size_mb": (_at_least("large_segment_size_mb"), None),
    "backend": (_one, None),
}
_FLAGS = ("expandable_segments", "release_lock_on_cudamalloc", "pinned_use_cuda_host_register")
_READ |= {name: (_flag, name) for name in _FLAGS}
_MORE = ("pinned_use_background_threads", "graph_capture_record_stream_reuse", "throw_on_cudamalloc_oom")
_READ |= {name: (_flag, None) for name in _MORE}


def _entries(text: str) -> Iterator[tuple[str, list[str]]]:
    """(option, the words of its value)."""
    words = re.findall(r"[,:\[\]]|[^,:\[\]]+", re.sub(r"\s", "", text))
    depth, entry = 0, list[str]()
    for word in [*words, ","]:
        depth += (word == "[") - (word == "]")
        if word != "," or depth:
            entry.append(word)
            continue
        if entry:
            if entry[1:2] != [":"] or len(entry) < 3:
                raise ValueError(f"Expected a value for '{entry[0]}' in ConfigTokenizer")
            yield entry[0], entry[2:]
        entry = []


def parse(text: str) -> Options:
    """Options in the syntax of PYTORCH_ALLOC_CONF. ValueError for others."""
    found = Options(text)
    for name, words in _entries(text):
        if name not in _READ:
            raise ValueError(f"Unrecognized key '{name}' in Accelerator allocator config.")
        read, field = _READ[name]
        value = read(words)
        if field is not None:
            setattr(found, field, value)
    return found


def set_settings(env: str) -> None:
    """Let allocators go by these options, in the syntax of PYTORCH_ALLOC_CONF. ValueError for others."""
    platform: Any = accelerator.platform()  # which takes the environment's options when it begins
    use(parse(env))
    if platform is not None and "per_process_memory_fraction" in env:
        for device in platform.devices():
            device.allocator.fraction = Current.options.per_process_memory_fraction


def from_environment() -> None:
    """Take the options that the environment names, the usual ones if none."""
    use(parse(next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), "")))
