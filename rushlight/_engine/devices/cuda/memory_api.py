"""torch.cuda where there is a device: how much of its memory is used, and by whom."""

from __future__ import annotations

import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from rushlight._engine.devices.cuda import words
from rushlight._engine.devices.cuda.allocator import Allocator, Handle
from rushlight._engine.devices.cuda.api import backend, index_of, platform


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors hold now."""
    return int(_allocator(device).figure("allocated_bytes"))


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors held at one time, since the start or reset_peak_memory_stats()."""
    return int(_allocator(device).figure("allocated_bytes", "peak"))


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator has of the driver now."""
    return int(_allocator(device).figure("reserved_bytes"))


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that it had at one time."""
    return int(_allocator(device).figure("reserved_bytes", "peak"))


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def _allocator(device: Any) -> Allocator:
    allocator = backend(device).allocator
    with allocator.lock:
        allocator.sweep()
    return allocator


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """All figures of the allocator."""
    return _allocator(device).statistics()


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """All figures of the allocator, flat: "allocated_bytes.all.peak" and so on, sorted by name."""
    found: dict[str, Any] = {}

    def flatten(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                flatten(f"{prefix}.{name}" if prefix else name, inner)
        else:
            found[prefix] = value

    flatten("", memory_stats_as_nested_dict(device))
    return OrderedDict(sorted(found.items()))


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Figures of page-locked memory: none are kept."""
    return {}


def host_memory_stats() -> OrderedDict[str, Any]:
    """Figures of page-locked memory: none are kept."""
    return OrderedDict()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Peaks are counted from now on."""
    _allocator(device).reset_peaks()


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """What was allocated and freed in all is counted from now on."""
    _allocator(device).reset_accumulated()


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_peak_host_memory_stats() -> None:
    """Nothing: no figures of page-locked memory are kept."""


reset_accumulated_host_memory_stats = reset_peak_host_memory_stats


def empty_cache() -> None:
    """Give the driver all memory back that no tensor holds, on all devices."""
    for device in platform().devices():
        device.allocator.empty()


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> list[dict[str, Any]]:
    """The allocator's segments and blocks, on all devices."""
    found = []
    for device in platform().devices():
        found += [{"device": device.index, **segment} for segment in device.allocator.snapshot()]
    return found


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, total) bytes, as the driver has it."""
    memory = backend(device).memory
    return memory.total - memory.own - memory.used, memory.total


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let tensors have this part of the memory at most, of [0, 1]; beyond it there is OutOfMemoryError."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _allocator(device).fraction = fraction


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The part of the memory that tensors may have."""
    return float(_allocator(device).fraction)


def get_allocator_backend() -> str:
    """The allocator's name: "native", the caching one."""
    return "native"


def caching_allocator_enable(value: bool = True) -> None:
    """Nothing: the caching allocator is always on."""


def _cuda_attach_out_of_memory_observer(observer: Callable[[int, int, int, int], None]) -> None:
    """Call it, from now on, before OutOfMemoryError is raised: with the device's number, the bytes that were
    asked for, those that the allocator asked of the driver, and those that are free.
    """
    platform().observers.append(observer)


_held: dict[int, Handle] = {}


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """The address of memory of the allocator's, for other libraries; caching_allocator_delete frees it."""
    where = backend(device)
    found = where.allocate(size, getattr(stream, "_queue", None))
    if found is None:
        return 0
    _held[found.address] = found
    return found.address


def caching_allocator_delete(mem_ptr: int) -> None:
    """Free memory of caching_allocator_alloc."""
    _held.pop(mem_ptr, None)


_LINES = (
    ("Allocated memory", "allocated_bytes", True),
    ("Active memory", "active_bytes", True),
    ("Requested memory", "requested_bytes", True),
    ("GPU reserved memory", "reserved_bytes", True),
    ("Non-releasable memory", "inactive_split_bytes", True),
    ("Allocations", "allocation", False),
    ("Active allocs", "active", False),
    ("GPU reserved segments", "segment", False),
    ("Non-releasable allocs", "inactive_split", False),
)
_COLUMNS = ("current", "peak", "allocated", "freed")


def _bytes(count: int, like: float) -> str:
    """A number of bytes, in the unit that `like` is shown in."""
    prefixes = ["B  ", "KiB", "MiB", "GiB", "TiB", "PiB"]
    prefix = prefixes[0]
    for bigger in prefixes[1:]:
        if like < 768 * 1024:
            break
        prefix, count, like = bigger, count // 1024, like / 1024
    return f"{count:6d} {prefix}"


def _count(count: int, like: float) -> str:
    prefixes = [" ", "K", "M"]
    prefix = prefixes[0]
    for bigger in prefixes[1:]:
        if like < 750 * 1000:
            break
        prefix, count, like = bigger, count // 1000, like / 1000
    return f"{count:7d} {prefix} "


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The allocator's figures as a table to print."""
    index, stats = index_of(device), memory_stats(device)
    thick, thin = "=" * 75, "-" * 75
    ooms, retries = stats["num_ooms"], stats["num_alloc_retries"]
    lines = [
        thick,
        f" {'':16} PyTorch CUDA memory summary, device ID {index:<17d} ",
        thin,
        f"  {'':9} CUDA OOMs: {ooms:<12d} | {'':6} cudaMalloc retries: {retries:<8d}  ",
        thick,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for title, name, in_bytes in _LINES:
        lines.append(thin)
        shown = _bytes if in_bytes else _count
        pools = [(title, "all")]
        if not abbreviated:
            pools += [("      from large pool", "large_pool"), ("      from small pool", "small_pool")]
        for label, pool in pools:
            values = [shown(stats[f"{name}.{pool}.{c}"], stats[f"{name}.all.{c}"]) for c in _COLUMNS]
            lines.append(f" {label:<21} | " + " | ".join(values) + " ")
    for title, name in (
        ("Oversize allocations", "oversize_allocations"),
        ("Oversize GPU segments", "oversize_segments"),
    ):
        values = [_count(stats[f"{name}.{c}"], stats[f"{name}.{c}"]) for c in _COLUMNS]
        lines += [thin, f" {title:<21} | " + " | ".join(values) + " "]
    return "|" + "|\n|".join([*lines, thick]) + "|\n"


def list_gpu_processes(device: Any = None) -> str:
    """Refused: only a card's own tools know."""
    raise ModuleNotFoundError(
        "torch.cuda.list_gpu_processes: nvidia-ml-py reads it off a card, and a simulated device has none"
    )


# --- history --------------------------------------------------------------------------------------

_FRAMES = 24


def _frames() -> list[dict[str, Any]]:
    """The frames that run now, innermost first, without this package's."""
    found: list[dict[str, Any]] = []
    frame: Any = sys._getframe(1)
    while frame is not None and len(found) < _FRAMES:
        code = frame.f_code
        if words.is_programs(code.co_filename):
            found.append({"filename": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
        frame = frame.f_back
    return found


def _record_memory_history(enabled: str | None = "all", *args: Any, **how: Any) -> None:
    """Remember, from now on, the lines that ask for memory; None ends it."""
    for index in range(platform().count):
        allocator = platform().device(index).allocator
        allocator.frames, allocator.traces = (None, []) if enabled is None else (_frames, allocator.traces)


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """Segments, blocks and what happened, as PyTorch's memory viewer reads them."""
    allocators = [platform().device(index).allocator for index in range(platform().count)]
    return {"segments": memory_snapshot(), "device_traces": [list(a.traces) for a in allocators]}


def _dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Write `_snapshot` to a file."""
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)
