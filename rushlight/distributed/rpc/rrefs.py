"""References to values that lie on a worker, and who has how many of them.

The owner keeps a value while other workers have references (forks). A worker tells it of a reference that it
was given by another than the owner, and then the giver, who keeps its own until it hears so; and it tells the
owner when a reference has gone.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
import weakref
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import rushlight as torch
from rushlight.distributed.communication.work import Future
from rushlight.distributed.rpc import gradients, messages, state
from rushlight.distributed.rpc.agent import service
from rushlight.distributed.rpc.constants import UNSET_RPC_TIMEOUT
from rushlight.distributed.rpc.internal import _handle_exception

T = TypeVar("T")


class GloballyUniqueId(NamedTuple):
    """A number that one worker gave."""

    created_on: int
    local_id: int

    def __str__(self) -> str:
        return repr(self)


@dataclass(eq=False)
class Owned:
    """A value of this worker."""

    number: GloballyUniqueId
    value: Future = field(default_factory=Future)


@dataclass(eq=False)
class Used:
    """A reference of this worker to a value of another."""

    number: GloballyUniqueId
    fork: GloballyUniqueId
    owner: int
    created: Future = field(default_factory=Future)  # done when the owner knows of it
    deleted: bool = False
    typed: Any = None


class _References:
    """All of this worker."""

    def __init__(self) -> None:
        self.owned: dict[GloballyUniqueId, Owned] = {}
        self.forks: dict[GloballyUniqueId, set[GloballyUniqueId]] = {}
        self.given: dict[GloballyUniqueId, Used] = {}  # forks that others have not confirmed yet
        self.used: weakref.WeakSet[Used] = weakref.WeakSet()
        self.lock = threading.RLock()
        self._numbers = itertools.count()
        self._gone: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def begin(self) -> None:
        """Know of none, and tell owners from now on of those that go."""
        self.__init__()  # type: ignore[misc]
        threading.Thread(target=self._tell, args=(self._gone,), name="rpc references", daemon=True).start()

    def new(self) -> GloballyUniqueId:
        """The next number of this worker."""
        return GloballyUniqueId(state.agent().get_worker_info().id, next(self._numbers))

    def own(self, number: GloballyUniqueId, fork: GloballyUniqueId | None = None) -> Owned:
        """A value of this worker by its number, known from now on, with one reference more."""
        with self.lock:
            found = self.owned.setdefault(number, Owned(number))
            if fork is not None:
                self.forks.setdefault(number, set()).add(fork)
            return found

    def use(self, number: GloballyUniqueId, fork: GloballyUniqueId, owner: int) -> Used:
        """A reference to a value of another worker."""
        made = Used(number, fork, owner)
        self.used.add(made)
        weakref.finalize(made, self._gone.put, (owner, number, fork)).atexit = False
        return made

    def drop(self, number: GloballyUniqueId, fork: GloballyUniqueId) -> None:
        """A reference has gone."""
        with self.lock:
            forks = self.forks.get(number, set())
            forks.discard(fork)
            if not forks:
                self.forks.pop(number, None)
                self.owned.pop(number, None)

    @staticmethod
    def _tell(gone: queue.SimpleQueue[Any]) -> None:
        """Tell owners of references that have gone: not where they go, which may be anywhere."""
        while True:
            entry = gone.get()
            if entry is None:
                return
            owner, number, fork = entry
            if state.is_set():
                state.agent().ask(owner, "delete_fork", (number, fork))

    def delete_all(self, seconds: float) -> None:
        """Give up all references of this worker, and wait until the others have given up theirs."""
        end = time.monotonic() + (seconds or 60.0)
        asked = []
        for one in list(self.used):
            if not one.deleted:
                one.deleted = True
                asked.append(state.agent().ask(one.owner, "delete_fork", (one.number, one.fork)))
        for done in asked:
            done.exception(timeout=max(0.1, end - time.monotonic()))

    def end(self, ignore_leak: bool) -> None:
        """Forget all. RuntimeError where others still have references, unless that is ignored."""
        self._gone.put(None)
        leaking = list(self.forks)
        self.owned, self.forks, self.given = {}, {}, {}
        if leaking and not ignore_leak:
            raise RuntimeError(f"Leaking RRef {leaking[0]}: other workers have references to it")

    def figures(self) -> dict[str, str]:
        """How many there are, as text."""
        pending = sum(not one.created.done() for one in list(self.used))
        return {
            "num_owner_rrefs": str(len(self.owned)),
            "num_pending_futures": "0",
            "num_pending_users": str(pending),
            "num_forks": str(sum(map(len, self.forks.values()))),
        }


references = _References()


def _missing(one: Used) -> bool:
    error = one.created.exception() if one.created.done() else None
    return error is not None


class RRef(Generic[T]):
    """A reference to a value of some worker. RRef(value): to one of this worker.

    type_hint: what TorchScript takes the value for; nothing here asks for it.
    """

    _of: Any

    def __init__(self, value: T, type_hint: Any = None) -> None:
        self._of = Owned(references.new())
        self._of.value.set_result(value)

    @classmethod
    def _made(cls, of: Any) -> RRef[Any]:
        found = cls.__new__(cls)
        found._of = of
        return found

    def is_owner(self) -> bool:
        """Whether the value lies here."""
        return isinstance(self._of, Owned)

    def owner(self) -> Any:
        """The worker on which the value lies."""
        agent = state.agent()
        return agent.get_worker_info() if self.is_owner() else agent.get_worker_info(self._of.owner)

    def owner_name(self) -> str:
        """Its name."""
        return str(self.owner().name)

    def confirmed_by_owner(self) -> bool:
        """Whether the owner knows of this reference."""
        return self.is_owner() or (self._of.created.done() and not _missing(self._of))

    def to_here(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """A copy of the value; on the owner the value. Waits for it."""
        if self.is_owner():
            return self.local_value()
        one: Used = self._of
        if one.deleted:
            raise RuntimeError(f"{self} has been deleted. Cannot call to_here() on it after deletion.")
        if _missing(one):
            raise RuntimeError(
                "RRef creation via rpc.remote() timed out, and it is possible that the RRef on the owner "
                f"node does not exist. ({one.created.exception()})"
            )
        context = gradients.contexts.current()
        question = (one.number, None if context is None else context._context_id())
        answer = state.agent().ask(one.owner, "fetch", question, timeout)
        found = messages.unpacked(answer.wait())
        _handle_exception(found)
        return found

    def local_value(self) -> Any:
        """The value, on its owner. RuntimeError elsewhere."""
        if not self.is_owner():
            raise RuntimeError(
                f"For UserRRef(rref_id={self._of.number}, fork_id={self._of.fork}), can't call localValue() "
                f"on user {state.agent().get_worker_info()}. Call it on owner {self.owner()}"
            )
        return self._of.value.wait()

    def rpc_sync(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """What calls the value's methods on its owner, and waits."""
        return self._proxy("rpc_sync", timeout)

    def rpc_async(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """What calls the value's methods on its owner; results are futures."""
        return self._proxy("rpc_async", timeout)

    def remote(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """What calls the value's methods on its owner; results are references."""
        return self._proxy("remote", timeout)

    def _proxy(self, how: str, timeout: float) -> Any:
        from rushlight.distributed.rpc import api, rref_proxy  # a circle: calls take references

        return rref_proxy.RRefProxy(self, getattr(api, how), timeout)

    def backward(self, dist_autograd_ctx_id: int = -1, retain_graph: bool = False) -> None:
        """The pass back from the value, a scalar: in a context of gradients, or on this worker alone."""
        from rushlight.distributed.rpc import api  # a circle: calls take references

        if self.is_owner():
            _backward_of(self, dist_autograd_ctx_id, retain_graph)
        elif dist_autograd_ctx_id == -1:
            raise RuntimeError(
                "User RRefs require 'dist_autograd_ctx_id' to be specified. For owner RRefs it may be "
                "left out."
            )
        else:
            api.rpc_sync(self.owner(), _backward_of, args=(self, dist_autograd_ctx_id, retain_graph))

    def _get_type(self, timeout: float = UNSET_RPC_TIMEOUT, blocking: bool = True) -> Any:
        """The value's type, or a future of it; asked for once."""
        from rushlight.distributed.rpc import api  # a circle: calls take references

        if self.is_owner():
            return api._rref_typeof_on_owner(self, blocking)
        one: Used = self._of
        if one.typed is None:
            one.typed = api.rpc_async(self.owner(), api._rref_typeof_on_owner, args=(self,), timeout=timeout)
        return one.typed.wait() if blocking else one.typed

    def _get_future(self) -> Future:
        """The future of the reference's making."""
        found: Future = self._of.value if self.is_owner() else self._of.created
        return found

    def _serialize(self) -> Any:
        return sent_rref(self)[1]

    @staticmethod
    def _deserialize(data: Any) -> RRef[Any]:
        return received_rref(*data)

    def __reduce__(self) -> Any:
        raise RuntimeError("Can not pickle rref in python pickler, rref can only be pickled when using RPC")

    def __repr__(self) -> str:
        if self.is_owner():
            return f"OwnerRRef({self._of.number})"
        return f"UserRRef(RRefId = {self._of.number}, ForkId = {self._of.fork})"


PyRRef = RRef


def _backward_of(rref: RRef[Any], context: int, retain_graph: bool) -> None:
    """The pass back on the owner."""
    value = rref.local_value()
    if not isinstance(value, torch.Tensor):
        raise RuntimeError("RRef should contain a tensor for .backward()")
    if context == -1:
        value.backward(retain_graph=retain_graph)
    else:
        gradients.backward(context, [value], retain_graph)


def sent_rref(rref: RRef[Any]) -> Any:
    """How a reference is pickled: as a new one, for whom it is sent to."""
    of = rref._of
    if isinstance(of, Used) and of.deleted:
        raise RuntimeError(f"{rref} has been deleted. Cannot call fork an UserRRef after deletion.")
    fork, me = references.new(), state.agent().get_worker_info().id
    if isinstance(of, Owned):
        with references.lock:
            references.owned[of.number] = of
            references.forks.setdefault(of.number, set()).add(fork)
        return received_rref, (of.number, fork, me, me)
    references.given[fork] = of
    return received_rref, (of.number, fork, of.owner, me)


def received_rref(number: Any, fork: Any, owner: int, parent: int) -> RRef[Any]:
    """The reference that was sent."""
    number, fork = GloballyUniqueId(*number), GloballyUniqueId(*fork)
    agent = state.agent()
    me = agent.get_worker_info().id
    if owner == me:
        of = references.own(number)
        if parent == me:
            found = RRef._made(of)
            references.drop(number, fork)
            return found
        agent.ask(parent, "accept_fork", fork)
        return RRef._made(of)
    one = references.use(number, fork, owner)
    if parent == owner:
        one.created.set_result(None)
        return RRef._made(one)

    def known(done: Any) -> None:
        error = done.exception()
        one.created.set_result(None) if error is None else one.created.set_exception(error)
        agent.ask(parent, "accept_fork", fork)

    agent.ask(owner, "new_fork", (number, fork)).add_done_callback(known)
    return RRef._made(one)


# --- what other workers ask -----------------------------------------------------------------------


@service
def fetch(question: Any, asker: int) -> Future:
    """A value, when it is there."""
    number, context = question
    found = references.own(GloballyUniqueId(*number))

    def told(done: Any) -> Any:
        contexts = gradients.contexts
        contexts.enter(None if context is None else contexts.of(context))
        try:
            return messages.packed(done.result(), asker)
        finally:
            contexts.enter(None)

    answer = Future()

    def give(done: Any) -> None:
        try:
            answer.set_result(told(done))
        except Exception as error:
            answer.set_exception(error)

    found.value.add_done_callback(give)
    return answer


@service
def new_fork(question: Any, asker: int) -> None:
    """A worker was given a reference by another one."""
    number, fork = question
    references.own(GloballyUniqueId(*number), GloballyUniqueId(*fork))


@service
def delete_fork(question: Any, asker: int) -> None:
    """A reference has gone."""
    number, fork = question
    references.drop(GloballyUniqueId(*number), GloballyUniqueId(*fork))


@service
def accept_fork(fork: Any, asker: int) -> None:
    """The owner knows of a reference that this worker has given."""
    references.given.pop(GloballyUniqueId(*fork), None)
