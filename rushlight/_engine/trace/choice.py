"""Whether calls are replayed (`Race`), or, where they cannot be, matched (`Choice`; matching.py), or executed
eagerly: both are timed, and the faster is kept. Why: docs/decisions/14-matched-or-eager.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import thread_time
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import BACKWARD_RUNNERS, AccumulateGrad
from rushlight._engine.core.pytree import flatten
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch.interpreters import MATCHERS, MODES, STACK
from rushlight._engine.tensors.storages import memory_pages
from rushlight._engine.tensors.tensor import Tensor, expect_filled
from rushlight._engine.trace.matching import Region
from rushlight._engine.trace.passes.memory import vacate
from rushlight._engine.trace.segment import RUNNING
from rushlight._engine.trace.trace import Node, Trace


class Sample:
    """How long a call took, its backward() included: of this thread's own time, since a machine that does
    something else meanwhile would add to one way or the other by chance.

    warm: it was matched whole, and all was compiled; cold: something was recorded; new: it did what had not
    been recorded at other sizes, either.
    """

    def __init__(self, trace: Trace | None) -> None:
        self.trace, self.seconds, self.noted = trace, 0.0, 0.0
        self.warm, self.new, self.cold = True, False, False

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """function(*args, **kwargs), its ops matched with the trace, if there is one."""
        begin = thread_time()
        trace = self.trace
        if trace is None:
            out = function(*args, **kwargs)
        else:
            out = self._within(trace, trace.root, function, args, kwargs)
        self.seconds += thread_time() - begin
        _leave(out, self)
        return out

    def run_backward(self, function: Callable[..., Any], *args: Any) -> None:
        """function(*args), the backward pass through the graph that the call left."""
        begin = thread_time()
        if self.trace is None:
            function(*args)
        else:
            self._within(self.trace, self.trace.backward, function, args, {})
        self.seconds += thread_time() - begin

    def _within(
        self,
        trace: Trace,
        begin: Node,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        region = _region(trace)
        if region is None:
            self.warm = False
            return function(*args, **kwargs)
        try:
            with region.at(begin):
                return function(*args, **kwargs)
        finally:
            self.new = self.new or region.fresh
            self.cold = self.cold or region.recorded > 0
            self.warm = self.warm and region.warm and not self.cold
            trace.busy.release()


class Matched:
    """A call that is matched, and not timed."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def call(
        self, begin: Node, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """function(*args, **kwargs), its ops matched from a node of the trace on."""
        region = _region(self.trace)
        if region is None:
            return function(*args, **kwargs)
        try:
            with region.at(begin):
                return function(*args, **kwargs)
        finally:
            self.trace.busy.release()

    def run_backward(self, function: Callable[..., Any], *args: Any) -> None:
        """function(*args), the backward pass through the graph that the call left."""
        self.call(self.trace.backward, function, args, {})


def _region(trace: Trace) -> Region | None:
    """The trace's region, which the caller is to let go of; None where it is not to be used now."""
    modes = STACK.modes
    if TAPE or (modes and not all([hasattr(m, "casts") for m in modes])) or not trace.busy.acquire(False):
        return None
    trace.own = trace.own or Region(trace)
    return trace.own  # type: ignore[no-any-return]


def _leave(out: Any, runner: Any) -> None:
    """Let a runner run the backward pass through the graph that a result leaves, if it leaves one."""
    if LOCAL.enabled:
        for t in (out,) if out.__class__ is Tensor else flatten(out)[0]:
            if isinstance(t, Tensor):
                node = t._grad_node
                if node is not None and node.__class__ is not AccumulateGrad:
                    BACKWARD_RUNNERS[node] = runner


def call(trace: Trace, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """function(*args, **kwargs), its ops matched with the trace."""
    matched = trace.matched
    if matched is None:
        matched = trace.matched = Matched(trace)
    out = matched.call(trace.root, function, args, kwargs)
    node = out._grad_node if out.__class__ is Tensor else None
    # A graph that backward() has been through in the call has let go of all.
    if node is None or node.saved is not None or trace.own is None or not trace.own.walked:
        _leave(out, matched)
    return out


def _usual(times: list[float]) -> float:
    """How long a call takes if little else goes on: the mean of the quarter that took least, since one alone
    may be luck; not 0, as which the thread's clock may tell a time.
    """
    few = sorted(times)[: max(len(times) // 4, 1)]
    return max(sum(few) / len(few), 1e-9)


def _first_is_faster(first: list[float], second: list[float]) -> bool | None:
    """Whether the way that took the first times is not the slower one; None where more of them would tell.

    Whatever else the machine does adds to a time. Where times lie near each other more are asked for, of
    short calls most, since these cost little.
    """
    tries = min(len(first), len(second))
    if tries >= _FEWEST and _far(first, second):
        return max(first) < min(second)
    if tries < _TRIES or len(first) < len(second):
        return None
    ratio = _usual(first) / _usual(second)
    took = sum(first) + sum(second)
    if tries < (_MOST_TRIES if took > _ENOUGH else _MOST_OF_SHORT) and _NEAR < ratio < 1 / _NEAR:
        return None
    return ratio <= 1


def _is_clear(first: list[float], second: list[float]) -> bool:
    """Whether the times of two ways do not lie near each other."""
    return bool(first and second) and not _NEAR < _usual(first) / _usual(second) < 1 / _NEAR


class Choice:
    """Whether calls of one kind are matched: if that is not slower than to run them as they are.

    They are tried both ways, a few times each, and again after more and more calls. The first run as they
    are: what never comes again is not worth a record. Of a function that is called with many kinds of
    arguments (texts of any length), the first kinds are tried at once, others as far as recording and
    compiling for them takes no more than a share of the time. So it is with what has been given up because
    call after call did something new (a solver whose steps depend on values).
    """

    def __init__(self) -> None:
        self.calls, self.until, self.wait = 0, 2, 64
        self.matches = False
        self._samples: dict[bool, list[float]] = {True: [], False: []}
        self._last: Sample | None = None
        self._cold = self._new = self._number = 0
        # Whether learning has been given up, and how often in a row.
        self._given_up, self._failures = False, 0
        # How long calls took that were neither matched nor tried, and the last of them; how long those took
        # in which something was recorded or compiled, and how many they were.
        self.rested, self._resting = 0.0, Sample(None)
        self._spent, self._spending = 0.0, 0
        # Whether it is to be matched without a trial, as other kinds are faster so (it is asked again later);
        # whether that has been considered.
        self._trusting = self._asked = False
        # How long a call takes, as was decided; whether that was just now; how the last trial ran.
        self._seconds, self._decided, self._way = 0.0, False, False

    def call(
        self, trace: Trace, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """function(*args, **kwargs), one way or the other."""
        self.calls += 1
        if trace.faster > 0 and not self._asked:
            self._asked, self._trusting, self.until = True, True, min(self.until, 1)
        if self.calls > self.until:
            self._note(trace)
        if self.calls <= self.until:
            trace.worked += self._seconds
            decided, self._decided = self._decided, False
            if decided:
                _make_room(trace, self.matches)
            out = call(trace, function, args, kwargs) if self.matches else function(*args, **kwargs)
            if decided:  # what the other way's gradients lay in is free by now
                _make_room(trace, self.matches)
            return out
        if not self._may_learn(trace):
            return self._rest(trace, function, args, kwargs)
        # Two of each in turn: the first of two may have to ask for its memory again. The very first, after
        # which it is known how long a call takes as it is, is one of those.
        matched = self._trusting or sum(map(len, self._samples.values())) % 4 in (1, 2)
        if matched != self._way:
            _make_room(trace, matched)
            self._way = matched
        # Other threads may begin a sample meanwhile.
        sample = self._last = Sample(trace if matched else None)
        out = sample.call(function, args, kwargs)
        self._account(trace, sample)
        return out

    def _rest(
        self, trace: Trace, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call as it is; the backward() of the one before it has come by now."""
        trace.worked += self._resting.seconds
        self.rested += self._resting.seconds
        self._resting = Sample(None)
        if self._given_up and self._seconds:  # those that follow take as long as ever, and are not timed
            self.until = self.calls + _BETWEEN
        return self._resting.call(function, args, kwargs)

    def _account(self, trace: Trace, sample: Sample) -> None:
        """Note how long a sample took since it was noted last: its backward() comes later."""
        seconds, sample.noted = sample.seconds - sample.noted, sample.seconds
        if sample.warm:
            trace.worked += seconds
        elif self._number > _AT_ONCE or self._given_up:
            trace.learnt += seconds

    def _may_learn(self, trace: Trace) -> bool:
        if not self._number:
            trace.kinds += 1
            self._number = trace.kinds
        at_once = self._number <= _AT_ONCE and not self._given_up
        if at_once or self._cold:
            return True
        if self._trusting:  # as it would have paid by now
            return trace.gain * self.rested >= trace.price
        # What was learnt in vain is tried again each time after far more calls, as are kinds of which more
        # have lost than won.
        lost: int = min(max(self._failures, -trace.faster // 2), _RAREST)
        return trace.learnt * float(_RARER**lost) <= _SHARE * trace.worked

    def rest(self, calls: int, trace: Trace) -> None:
        """So many calls will be as they are, and not come here."""
        self.calls += calls
        trace.worked += calls * self._seconds

    def _note(self, trace: Trace) -> None:
        last, self._last = self._last, None
        if last is None:
            return
        self._account(trace, last)
        samples = self._samples
        if last.warm:
            samples[last.trace is not None].append(last.seconds)
        else:
            self._cold += 1
            self._new += last.new
            self._spent += last.seconds
            self._spending += 1
        if self._trusting and samples[True]:
            self._trusting = False
            # Beside what the calls take in any case.
            trace.price = max(self._spent - self._spending * min(samples[True]) / (1 - trace.gain), 0.0)
            self._decide(True, trace)
        elif (matches := _first_is_faster(samples[True], samples[False])) is not None:
            self._given_up, self._failures = False, 0
            self._decide(matches, trace)
        elif self._cold > _PATIENCE or self._new > _NEW or self._too_dear():
            if not self._given_up and self._number <= _AT_ONCE:  # it has not been noted as it was spent
                trace.learnt += self._spent
            self._given_up, self._trusting = True, False
            self._failures += 1
            self._decide(False, trace)

    def _too_dear(self) -> bool:
        """Whether calls have taken far longer than as they are, and there is still more to record."""
        eagerly = min(self._samples[False], default=math.inf)
        return self._cold > _OFTEN and self._spent > _DEAREST * eagerly

    def _decide(self, matches: bool, trace: Trace | None = None) -> None:
        if trace is not None:
            trace.faster += 1 if matches else -1
            if matches and self._samples[False]:
                trace.gain = 1 - _usual(self._samples[True]) / _usual(self._samples[False])
        self._asked = True
        if not matches and not any(map(MATCHERS.__contains__, map(type, MODES))):
            expect_filled()
        self._seconds = min(self._samples[matches], default=0.0)
        wait = self.wait * (_CLEARLY if _is_clear(*self._samples.values()) else 1)
        self.matches, self._samples = matches, {True: [], False: []}
        self._cold = self._new = self._spending = 0
        self._spent = 0.0
        self.until, self.wait = self.calls + wait, 4 * self.wait
        self._decided, self._way = True, matches


class Race:
    """Whether calls of a kind that has a program replay it: if that is not slower than to run them.

    It is asked after a few replays, and again after more and more calls; left: how many there are before.
    """

    __slots__ = ("_last", "_samples", "left", "replays", "wait")

    def __init__(self) -> None:
        self.replays, self.left, self.wait = True, REPLAYS, 64
        self._samples: dict[bool, list[float]] = {True: [], False: []}
        self._last: tuple[bool, Sample] | None = None

    def next(self) -> bool | None:
        """Whether the next call, which is timed, is a replay; None where the faster way is known now."""
        last, self._last = self._last, None
        if last is not None:  # its backward() has come
            self._samples[last[0]].append(last[1].seconds)
        replays = _first_is_faster(self._samples[True], self._samples[False])
        if replays is None:
            return sum(map(len, self._samples.values())) % 4 in (1, 2)
        wait = self.wait * (_CLEARLY if _is_clear(*self._samples.values()) else 1)
        self._samples = {True: [], False: []}
        self.replays, self.left, self.wait = replays, wait, 4 * self.wait
        return None

    def timed(
        self, replay: bool, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """function(*args, **kwargs), a replay or the function itself."""
        sample = Sample(None)
        self._last = replay, sample
        return sample.call(function, args, kwargs)

    def drop(self) -> None:
        """Forget the last time: it was no replay's."""
        self._last = None


def _make_room(trace: Trace, matched: bool) -> None:
    """Give back what calls of the other way have used and left, if that is much."""
    with RUNNING:
        programs = [*trace.made]
        held = sum([made.plan.size + sum([o.flat.nbytes for o in made.outputs]) for made in programs])
        if held < _MUCH:
            return
        if not matched:
            vacate(programs)
    memory_pages.give_back()


def _far(first: list[float], second: list[float]) -> bool:
    """Whether all times of one way are much less than those of the other."""
    return max(first) < _NEAR * min(second) or max(second) < _NEAR * min(first)


# How often calls are tried each way: at least, at least if all times lie far apart, and at most; which ratio
# of times is near; how many calls may be recorded or compiled before that, and how many of these may do
# something new.
_TRIES, _FEWEST, _MOST_TRIES, _NEAR, _PATIENCE, _NEW = 4, 2, 8, 0.85, 12, 8
# Where the times do not lie near each other, it is asked again after so many times as many calls as else.
_CLEARLY = 4
# How many replays there are before they are timed.
REPLAYS = 4
# How often at most where all calls that were tried have not taken so many seconds yet.
_MOST_OF_SHORT, _ENOUGH = 24, 0.02
# After how many of these it is asked whether they have taken too long: as many eager calls as this.
_OFTEN, _DEAREST = 10, 64
# How many kinds are tried at once, and what share of the time those after them may take to be learnt, as long
# as more kinds have not turned out to be faster by matching than the other way round.
_AT_ONCE, _SHARE = 4, 0.15
# By how much that share is less after each time that learning was given up, and how often that counts; how
# many calls are not looked at before it is asked whether it may begin again.
_RARER, _RAREST, _BETWEEN = 4, 4, 32
# What is much memory to keep for a way that is not taken.
_MUCH = 1 << 24
