"""torch.cuda where there is a device: how much of its memory is used, and by whom."""

from __future__ import annotations

import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from rushlight._engine.devices.cuda.accounts import options
from rushlight._engine.devices.cuda.accounts.history import LEVELS, History
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
    """The allocator's segments and blocks, on all devices; mempool_id: those of a pool."""
    found = []
    for device in platform().devices():
        found += [{"device": device.index, **segment} for segment in device.allocator.snapshot()]
    wanted = None if mempool_id is None else tuple(mempool_id)
    return [segment for segment in found if wanted in (None, segment["segment_pool_id"])]


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

_NOT = "expected {0} to be {1}"


def _record_memory_history(enabled: Any = "all", *args: Any, **how: Any) -> None:
    """Remember, from now on, what is allocated and freed, and the lines that asked for it; None ends it.

    _record_memory_history(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None,
    clear_history=False, compile_context=False, global_record_annotations=False, skip_actions=None)

    enabled: "state" keeps what is allocated now, "all" also what happened before. context: whose lines are
    kept: of what is allocated now ("state"), of events "alloc", of "all" events, or of none (None).
    """
    if isinstance(enabled, bool):
        return _recorded_by_flags(enabled, *args, **how)
    return _recorded(enabled, *args, **how)


def _recorded_by_flags(
    enabled: bool,
    record_context: bool = True,
    trace_alloc_max_entries: int = 1,
    trace_alloc_record_context: bool = False,
    device: Any = None,
    record_context_cpp: bool = False,
    clear_history: bool = False,
    *args: Any,
    **more: Any,
) -> None:
    """As it was called before PyTorch 2.1."""
    if not enabled:
        return _recorded(None)
    context = ("all" if trace_alloc_record_context else "state") if record_context else None
    state = "all" if trace_alloc_max_entries > 1 else "state"
    return _recorded(state, context, "python", trace_alloc_max_entries, device, clear_history)


def _recorded(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: Any = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: list[str] | None = None,
) -> None:
    if enabled not in (None, "state", "all"):
        raise RuntimeError(_NOT.format("state", "'state', 'all', or None"))
    if context not in LEVELS:
        raise RuntimeError(_NOT.format("context", "'state', 'alloc', 'all', or None"))
    if stacks not in ("python", "all"):
        raise RuntimeError(_NOT.format("stacks", "'python', or 'all'"))
    for index in range(platform().count):
        allocator = platform().device(index).allocator
        with allocator.lock:
            allocator.sweep()
        if enabled is None:
            allocator.history = None
            continue
        if allocator.history is None or clear_history:
            allocator.history = History()
        allocator.history.set(LEVELS[context], max_entries if enabled == "all" else 1, skip_actions or ())


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """Segments, blocks and what happened, as PyTorch's memory viewer reads them."""
    allocators = [platform().device(index).allocator for index in range(platform().count)]
    segments = memory_snapshot()
    histories = [a.history for a in allocators]
    return {
        "segments": segments,
        "device_traces": [[] if h is None else list(h.events) for h in histories],
        "allocator_settings": _settings(),
        "external_annotations": [],
    }


def _settings() -> dict[str, Any]:
    now = options.Current.options
    return {
        "PYTORCH_CUDA_ALLOC_CONF": now.text,
        "max_split_size": now.split_limit,
        "garbage_collection_threshold": now.garbage_collection_threshold,
        "expandable_segments": now.expandable_segments,
        "release_lock_on_cudamalloc": now.release_lock_on_cudamalloc,
        "pinned_use_cuda_host_register": now.pinned_use_cuda_host_register,
    }


def _allocation_traceback(data_ptr: int) -> list[dict[str, Any]] | None:
    """The lines that asked for the memory that begins at an address, None where they were not recorded."""
    for segment in memory_snapshot():
        for block in segment["blocks"]:
            if block["address"] == data_ptr and block["state"] != "inactive" and block["frames"]:
                return list(block["frames"])
    return None


def _dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Write `_snapshot` to a file."""
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)
