"""Calls of functions on other workers."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rushlight.distributed.communication.work import Future, told, wait_all
from rushlight.distributed.rpc import messages, state
from rushlight.distributed.rpc.agent import WorkerInfo, service
from rushlight.distributed.rpc.constants import DEFAULT_SHUTDOWN_TIMEOUT, UNSET_RPC_TIMEOUT
from rushlight.distributed.rpc.gradients import contexts
from rushlight.distributed.rpc.internal import (
    PythonUDF,
    RemoteException,
    _handle_exception,
    _internal_rpc_pickler,
    _run_function,
    remote_exception,
)
from rushlight.distributed.rpc.rrefs import GloballyUniqueId, PyRRef, RRef, references

__all__ = [
    "RRef",
    "WorkerInfo",
    "get_rpc_timeout",
    "get_worker_info",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]
F = TypeVar("F", bound=Callable[..., Any])
logger = logging.getLogger(__name__)
_ignore_rref_leak = True
_default_pickler: Any = _internal_rpc_pickler
_thread_local_var = threading.local()  # what _wait_all() collects
_get_current_rpc_agent, _is_current_rpc_agent_set = state.agent, state.is_set


@contextmanager
def _use_rpc_pickler(rpc_pickler: Any) -> Iterator[None]:
    """Pickle calls by something else."""
    global _default_pickler
    _default_pickler = rpc_pickler
    try:
        yield
    finally:
        _default_pickler = _internal_rpc_pickler


def _require_initialized(func: F) -> F:
    """Let a function refuse where init_rpc() has not been called."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not state.is_set():
            raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")
        return func(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


# --- calls ----------------------------------------------------------------------------------------


def _to_worker_info(to: Any) -> WorkerInfo:
    if isinstance(to, WorkerInfo):
        return to
    if isinstance(to, (str, int)):
        return get_worker_info(to)
    raise ValueError(f"Cannot get WorkerInfo from name {to}")


def _asked(to: Any, func: Any, args: Any, kwargs: Any) -> tuple[WorkerInfo, Any, bool]:
    """Whom a call goes to, its message, and whether the function's result is a future."""
    if not callable(func):
        raise TypeError("function should be callable.")
    worker = _to_worker_info(to)
    call = PythonUDF(func, tuple(args or ()), dict(kwargs or {}))
    message = messages.packed(call, worker.id, _default_pickler)
    return worker, message, hasattr(func, "_wrapped_async_rpc_function")


def _result(done: Any) -> Any:
    found = messages.unpacked(done.result())
    _handle_exception(found)
    return found


def _called(to: Any, func: Any, args: Any, kwargs: Any, timeout: float) -> Future:
    worker, message, waits = _asked(to, func, args, kwargs)
    answer = state.agent().ask(worker.id, "call", (message, waits), timeout)
    found = Future()

    def give(done: Any) -> None:
        try:
            value = _result(done)
        except Exception as error:
            found.set_exception(error)
        else:
            found.set_result(value)

    answer.add_done_callback(give)
    return found


@_require_initialized
def rpc_sync(
    to: Any, func: Any, args: Any = None, kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT
) -> Any:
    """Call a function on a worker and wait for its result.

    to: its name, number or WorkerInfo; timeout: seconds, 0 for no end, else what init_rpc() was told. What
    the function raises is raised here.
    """
    return _called(to, func, args, kwargs, timeout).wait()


@_require_initialized
def rpc_async(
    to: Any, func: Any, args: Any = None, kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT
) -> Future:
    """Call a function on a worker; the future of its result."""
    found = _called(to, func, args, kwargs, timeout)
    if hasattr(_thread_local_var, "future_list"):
        _thread_local_var.future_list.append(found)
    return found


@_require_initialized
def remote(
    to: Any, func: Any, args: Any = None, kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT
) -> RRef[Any]:
    """Call a function on a worker; a reference to its result, which stays there."""
    worker, message, waits = _asked(to, func, args, kwargs)
    agent = state.agent()
    number, fork = references.new(), references.new()
    if worker.id == agent.get_worker_info().id:
        of = references.own(number, fork)
        done = agent.ask(worker.id, "create", (message, waits, number, None), timeout)
        done.add_done_callback(lambda _: references.drop(number, fork))
        return RRef._made(of)
    one = references.use(number, fork, worker.id)
    done = agent.ask(worker.id, "create", (message, waits, number, fork), timeout)

    def created(done: Any) -> None:
        error = done.exception()
        one.created.set_result(None) if error is None else one.created.set_exception(error)

    done.add_done_callback(created)
    return RRef._made(one)


@contextmanager
def _wait_all() -> Iterator[None]:
    """Wait at the end for all that rpc_async() has begun in this thread."""
    _thread_local_var.future_list = []
    try:
        yield
    finally:
        try:
            wait_all(_thread_local_var.future_list)
        finally:
            del _thread_local_var.future_list


# --- what other workers ask -----------------------------------------------------------------------


def _ran(message: messages.Message, waits: bool, give: Callable[[Any], None]) -> None:
    """Run a call in its context; `give` gets the result, or the exception as what callers are told."""
    context = None if message.context is None else contexts.of(message.context)

    def end(value: Any) -> None:
        contexts.enter(context)
        try:
            give(value)
        finally:
            contexts.enter(None)

    def come(done: Any) -> None:
        error = done.exception()
        end(done.result() if error is None else remote_exception(error, state.agent().get_worker_info()))

    contexts.enter(context)
    try:
        value = _run_function(messages.unpacked(message))
        if waits and not isinstance(value, (Future, RemoteException)):
            wrong = RuntimeError(
                "Functions decorated with @rpc.async_function must return a torch.futures.Future object, "
                f"but got {type(value)}"
            )
            value = remote_exception(wrong, state.agent().get_worker_info())
    finally:
        contexts.enter(None)
    value.add_done_callback(come) if waits and isinstance(value, Future) else end(value)


@service
def call(question: Any, asker: int) -> Future:
    """What a function comes to."""
    message, waits = question
    answer = Future()

    def give(value: Any) -> None:
        try:
            answer.set_result(messages.packed(value, asker))
        except Exception as error:
            raised = remote_exception(error, state.agent().get_worker_info())
            answer.set_result(messages.packed(raised, asker))

    _ran(message, waits, give)
    return answer


@service
def create(question: Any, asker: int) -> Future:
    """Keep what a function comes to."""
    message, waits, number, fork = question
    of = references.own(GloballyUniqueId(*number), fork and GloballyUniqueId(*fork))
    answer = Future()

    def give(value: Any) -> None:
        if isinstance(value, RemoteException):
            try:
                _handle_exception(value)
            except Exception as error:
                of.value.set_exception(error)
        else:
            of.value.set_result(value)
        answer.set_result(None)

    try:
        _ran(message, waits, give)
    except BaseException as error:  # who asks for the value is told, as well as who asks for its making
        if not of.value.done():
            of.value.set_exception(error if isinstance(error, Exception) else told(error))
        raise
    return answer


# --- workers together -----------------------------------------------------------------------------

_gathered: dict[str, tuple[dict[str, Any], Future]] = {}
_gathering = threading.Lock()
_sequence: dict[str, int] = {}


@service
def gather(question: tuple[str, str, list[str], Any], asker: int) -> Future:
    """What all workers of a list have said, when the last one has."""
    key, name, names, value = question
    with _gathering:
        said, found = _gathered.setdefault(key, ({}, Future()))
        said[name] = value
        last = len(said) == len(names)
        if last:
            del _gathered[key]
    if last:
        found.set_result(said)
    return found


@_require_initialized
def _all_gather(
    obj: Any, worker_names: set[str] | None = None, timeout: float = UNSET_RPC_TIMEOUT
) -> dict[str, Any]:
    """What each worker says, by its name; all of them, or the named ones, call it."""
    agent = state.agent()
    names = sorted(worker_names or {info.name for info in agent.get_worker_infos()})
    together = ",".join(names)
    with _gathering:
        number = _sequence[together] = _sequence.get(together, 0) + 1
    leader = agent.get_worker_info(names[0])
    question = (f"{together}#{number}", agent.get_worker_info().name, names, obj)
    seconds = 0.0 if timeout == UNSET_RPC_TIMEOUT else timeout
    try:
        found: dict[str, Any] = agent.ask(leader.id, "gather", question, seconds).wait()
    except RuntimeError as error:
        raise RuntimeError(
            f"Followers {names[1:]} timed out in _all_gather after {seconds:.2f} seconds. The first "
            f"exception is {error}"
        ) from error
    return found


@_require_initialized
def _barrier(worker_names: Any) -> None:
    """Wait until all named workers have come."""
    try:
        _all_gather(None, set(worker_names))
    except RuntimeError:
        logger.exception("Failed to complete barrier")


@_require_initialized
def _wait_all_workers(timeout: float = DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Wait until all workers have come."""
    try:
        _all_gather(None, timeout=timeout)
    except RuntimeError:
        logger.exception("Failed to respond to 'Shutdown Proceed' in time")
        raise


@_require_initialized
def shutdown(graceful: bool = True, timeout: float = DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """End remote calls in this process. graceful: when all workers have come here and are idle."""
    agent = state.agent()
    try:
        if graceful and agent.is_static_group:
            _wait_all_workers(timeout)
            _delete_all_user_and_unforked_owner_rrefs(timeout)
            _wait_until_idle(timeout)
    finally:
        _finalize_shutdown()


def _wait_until_idle(timeout: float) -> None:
    """Wait until no worker has a request under way, or one of them has waited too long (0: no end)."""
    end = time.monotonic() + (timeout or float("inf"))
    pause = 0.001
    while True:
        found = _all_gather((state.agent().active(), time.monotonic() > end), timeout=timeout)
        active = {name: count for name, (count, _) in found.items() if count}
        if not active:
            return
        if any(late for _, late in found.values()):
            logger.warning("Requests are still under way at shutdown, by worker: %s", active)
            return
        time.sleep(pause)
        pause = min(2 * pause, 0.1)


def _delete_all_user_and_unforked_owner_rrefs(timeout: float = 0.0) -> None:
    """Give up all references of this worker."""
    references.delete_all(timeout)


def _finalize_shutdown() -> None:
    agent = state.agent()
    try:
        references.end(_ignore_rref_leak)
    finally:
        agent.shutdown()
        state.reset()
        _sequence.clear()
        _gathered.clear()


# --- what there is --------------------------------------------------------------------------------


@_require_initialized
def get_worker_info(worker_name: str | int | None = None) -> WorkerInfo:
    """A worker by its name; without one, this worker."""
    found: WorkerInfo = state.agent().get_worker_info(worker_name)
    return found


def get_rpc_timeout() -> float:
    """Seconds that a call may take by default."""
    return float(state.agent().get_timeout())


def _set_rpc_timeout(seconds: float) -> None:
    """Set them."""
    state.agent().set_timeout(seconds)


def _rref_typeof_on_owner(rref: Any, blocking: bool = True) -> Any:
    """The type of a reference's value, or a future of it."""
    found = type(rref.local_value())
    if blocking:
        return found
    future = Future()
    future.set_result(found)
    return future


def _rref_typeof_on_user(rref: Any, timeout: float = UNSET_RPC_TIMEOUT, blocking: bool = True) -> Any:
    """The same, asked of the owner."""
    return rref._get_type(timeout, blocking)


def _rref_context_get_debug_info() -> dict[str, str]:
    """How many references there are, as text."""
    return references.figures()


__all__ += ["PyRRef"]
