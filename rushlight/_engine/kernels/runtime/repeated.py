"""Loops of small steps, such as a recurrence's, that are called again on operands that lie in the same way.

The second such call is written down as stages; it and all later ones are one native call.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.core.layout import pointer
from rushlight._engine.kernels.runtime import parallel, stages, team

Array = np.ndarray[Any, Any]
Loop = Callable[..., None]
# Loops that are known, and words of the longest one that is written down.
_MOST, _WORDS = 16, 1 << 17
_KNOWN: OrderedDict[Hashable, Any] = OrderedDict()  # a _Written; None for one that was called once
_NEW = object()


class _Written(NamedTuple):
    """call: of the operands, and of memory for steps in between, laid out as `scratch`."""

    call: team.Call
    scratch: list[tuple[Any, Any]]


def repeated(key: Hashable, loop: Loop, operands: Sequence[Array]) -> bool:
    """Do what the loop does, if it is known by now: whether that is so.

    loop: of something to tell each step to (`stages.StageRecorder`). key: what it is, but for what says how
    its operands, all the memory that it works on, lie.
    """
    threads = parallel.get_num_threads()
    whole = key, threads, tuple([(a.shape, a.strides, a.dtype.char) for a in operands])
    written = _KNOWN.get(whole, _NEW)
    if written is _NEW:
        _KNOWN[whole] = None
        with suppress(KeyError):  # another thread's has come meanwhile
            if len(_KNOWN) > _MOST:
                _KNOWN.popitem(last=False)
        return False
    if written is None:
        if _overlap(operands):  # which addresses are whose is not to be told
            return False
        written = _KNOWN[whole] = _written(loop, operands, threads)
    if not written.call.kept:
        return False
    written.call(threads, *operands, *[np.empty(*of) for of in written.scratch])
    return True


def _overlap(operands: Sequence[Array]) -> bool:
    """Whether operands share memory."""
    spans = sorted(np.lib.array_utils.byte_bounds(a) for a in operands if a.size)
    return any(end > begin for (_, end), (begin, _) in zip(spans, spans[1:], strict=False))


def _written(loop: Loop, operands: Sequence[Array], threads: int) -> _Written:
    """The loop's stages, relative to the operands; none where it is too long, or has a step without one."""
    recorder = stages.StageRecorder(threads)
    loop(recorder)
    words = sum([stage.jobs.size for stage in recorder.stages])
    fits = recorder.known and words <= _WORDS
    memory = [*operands, *recorder.scratch]
    return _Written(
        team.Call(*[_relative(s, memory) for s in recorder.stages * fits]),
        [(a.shape, a.dtype) for a in recorder.scratch],
    )


def _relative(stage: stages.Stage, operands: Sequence[Array]) -> team.CallStage:
    """A stage whose jobs are relative to operands, where they are about those; it keeps none of them."""
    spans = [np.lib.array_utils.byte_bounds(a) for a in operands]
    jobs, of = stage.jobs.copy(), list[int]()
    for k, a in enumerate(stage.kept):
        address = pointer(a) if isinstance(a, np.ndarray) else -1
        number = next((i for i, (low, high) in enumerate(spans) if low <= address < high), None)
        if number is None:
            break
        jobs[:, k] -= pointer(operands[number])
        of.append(number)
    return team.CallStage(stage.loop, jobs, of, stage.before, stage.steps, stage.kept[len(of) :])
