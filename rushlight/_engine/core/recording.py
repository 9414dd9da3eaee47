"""Who records what is computed: everything that runs kernels tells the recorder in TAPE, if there is one.

A recorder (trace/recorder.py) has these methods:
  run(function, operands, result, values)   result was function(*operands); values: the operands as tensors
  write(function, operands, values)         memory was written by function(*operands)
  call(function, *args)                     do it unrecorded now, and again at every replay
  accumulate(function, node, grad, create)  a leaf receives its gradient
  check(function, arrays)                   function(*arrays) raised nothing; it is to look at every replay
  backward_begins()                         gradients are computed from here on
  constant(array)                           made from Python values alone
  escape(what, breaks)                      a value left for Python, or something that cannot be repeated;
                                            breaks: so that fullgraph=True refuses it, as PyTorch does
  once                                      why the call's backward pass may not be recorded before it comes
  fuses                                     whether it fuses what composites are made of
It may have run_node(node, grad): what a node's rule gives in a backward pass.
Its `thread`, if it has one, is the only one that it hears.
It may be a `region`, in which Python runs each time. It then has update(plan, numbers): an optimizer steps a
bucket of parameters; whether that is put off until settle().
It may have walk(function, ...): a whole backward pass, which function(...) does.
It may have warned(): a warning is given, which leaving out what ran would leave out, too.
It may have made_whole(t): a view of what a composite has made becomes a tensor of its own.
It may have settle(): memory is to be written to past the dispatcher, so what was put off is computed first.
It may have settle_draws(): the same, if what was put off draws random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from threading import get_ident
from typing import Any


class Deaf:
    """Hears nothing: what TAPE answers a thread whose calls nobody records, while another thread's are."""

    fuses = False
    once = ""

    def nothing(self, *what: Any) -> None:
        """Not heard."""

    run = write = check = constant = escape = backward_begins = nothing

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Done, and not heard of."""
        return function(*args)

    def accumulate(self, function: Callable[..., None], node: Any, grad: Any, create: bool) -> None:
        """A leaf receives its gradient."""
        function(node, grad, create)

    def update(self, plan: Any, numbers: Any) -> bool:
        """Nothing is put off."""
        return False


_DEAF, _at = Deaf(), list.__getitem__


class _Tape(list[Any]):
    """The recorders at work; TAPE[-1] is the latest that hears the thread that asks.

    One that has a `thread` hears that thread alone. Whether there is any is asked at each op, by all threads:
    it is the list's own answer.
    """

    __slots__ = ()

    def __getitem__(self, i: Any) -> Any:
        me = get_ident()
        try:
            found = _at(self, i)
            if found.thread == me or i != -1:
                return found
        except AttributeError:
            return found
        except IndexError:  # another thread's was there when somebody asked for any
            return _DEAF
        return next((r for r in reversed(self) if getattr(r, "thread", me) == me), _DEAF)


TAPE = _Tape()
# Who follows what Python does (trace/effects/purity.py): aside(call, args, kwargs) is call(*args, **kwargs),
# in which nothing is to be followed; resume() goes on within it.
FOLLOWERS: list[Any] = []
# The tracers of torch.fx that are at work.
TRACERS: list[Any] = []
# Classes of numbers that are handed on as they are, not made ints and floats (torch.SymInt).
KEPT: set[type] = set()
BY_VALUES = "decides by values what it computes"


def unfollowed(call: Callable[..., Any], *args: Any) -> Any:
    """call(*args), which is none of what those are to see who follow what a program does."""
    for follower in FOLLOWERS[-1:]:
        return follower.aside(call, args, {})
    return call(*args)


def constant(array: Any) -> Any:
    """The array, which was made from Python values alone: the recorder, if any, is told so."""
    if TAPE:
        TAPE[-1].constant(array)
    return array


def fusing() -> bool:
    """Whether composites are taken apart and fused with what is around, not run by kernels of their own."""
    return bool(TAPE) and TAPE[-1].fuses


def heard() -> Any:
    """Who records what this thread does; None for nobody."""
    found = TAPE[-1] if TAPE else None
    return None if found is _DEAF else found


def region() -> Any:
    """The recorder, if Python runs each time that a call is made which it records; else None."""
    found = TAPE[-1] if TAPE else None
    return found if getattr(found, "region", None) is not None else None


def settle() -> None:
    """Tell the recorder, if any, that memory is to be written to: what it has put off is computed first."""
    put_off = getattr(TAPE[-1], "settle", None) if TAPE else None
    if put_off is not None:
        put_off()


def settle_draws() -> None:
    """Tell the recorder, if any, that a generator's state is asked for: numbers that it put off are drawn."""
    drawn = getattr(TAPE[-1], "settle_draws", None) if TAPE else None
    if drawn is not None:
        drawn()


@contextmanager
def switched(what: str, breaks: bool = True) -> Iterator[None]:
    """Around a change of a switch of the process that ops ask (switches.py). breaks: as escape()'s.

    What was put off is computed as it was asked for, and what follows is another matter; a call that is
    recorded to be replayed without Python will not be, as a replay would leave the change out.
    """
    escape(f"{what} is changed", breaks)
    settle()
    try:
        yield
    finally:
        settle()


def escape(what: str, breaks: bool = True) -> None:
    """Tell the recorder, if any, that what follows depends on values. breaks: fullgraph=True refuses it."""
    if TAPE:
        TAPE[-1].escape(what, breaks and not _OPAQUE[0])


# How many ops run whose functions nobody looks into.
_OPAQUE = [0]


@contextmanager
def opaque() -> Iterator[None]:
    """While a function of an op of a program's own runs: what it does ends no graph."""
    _OPAQUE[0] += 1
    try:
        yield
    finally:
        _OPAQUE[0] -= 1


def off_host(what: str) -> None:
    """Tell the recorder, if any, of work on another device, which a program of the host's cannot repeat.

    One that records ops, wherever they run, has off_host(what) for it.
    """
    if TAPE:
        heard_by = TAPE[-1]
        if hasattr(heard_by, "off_host"):
            heard_by.off_host(what)
        else:
            heard_by.escape(what, False)


def decides(op: str) -> None:
    """Tell the recorder, if any, that an op's body looks at values to know what to compute."""
    if TAPE:
        TAPE[-1].escape(f"{op} {BY_VALUES}", False)


def checked(check: Callable[..., None], *arrays: Any) -> None:
    """check(*arrays), which raises for values that an op refuses: now, and at every replay of the call."""
    check(*arrays)
    if TAPE:
        record = getattr(TAPE[-1], "check", None)
        if record is None:
            decides("a check of values")
        else:
            record(check, arrays)


def replayed(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that a recorder calls again at every replay: what it does depends on what it finds."""

    @wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if TAPE:
            return TAPE[-1].call(partial(method, self, *args, **kwargs))
        return method(self, *args, **kwargs)

    return called


def backward_only(why: str) -> None:
    """Tell the recorder, if any, that only backward() itself may go through the graph that the call
    leaves.
    """
    recorder = heard()
    if recorder is not None:
        recorder.once = f"{why}: compile the whole step, with backward() in it"
