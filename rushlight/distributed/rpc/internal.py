"""How calls and results are pickled: tensors beside, references to values of other workers as such."""

from __future__ import annotations

import copyreg
import io
import pickle
import sys
import threading
import traceback
from collections import namedtuple
from collections.abc import Callable
from enum import Enum
from typing import Any

import rushlight as torch

PythonUDF = namedtuple("PythonUDF", ["func", "args", "kwargs"])
RemoteException = namedtuple("RemoteException", ["msg", "exception_type"])
_tables = threading.local()  # the tensors of what is being pickled, or read, in this thread


class RPCExecMode(Enum):
    """How a function is called."""

    SYNC = "sync"
    ASYNC = "async"
    ASYNC_JIT = "async_jit"
    REMOTE = "remote"


def _received(number: int) -> Any:
    return _tables.received[number]


def _noted(tensor: Any) -> Any:
    _tables.sent.append(tensor)
    return _received, (len(_tables.sent) - 1,)


def _module(data: bytes) -> Any:
    return torch.jit.load(io.BytesIO(data))


def _saved(module: Any) -> Any:
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    return _module, (buffer.getvalue(),)


class _InternalRPCPickler:
    """Pickles what is sent."""

    def __init__(self) -> None:
        self._reducers: dict[type, Callable[[Any], Any]] = {}

    def _register_reducer(self, obj_class: type, reducer: Callable[[Any], Any]) -> None:
        """Let a class be pickled by a function, unless another one is known."""
        self._reducers.setdefault(obj_class, reducer)

    def serialize(self, obj: Any) -> tuple[bytes, list[Any]]:
        """The pickled object, and the tensors in it."""
        from rushlight.distributed.rpc.rrefs import RRef, sent_rref  # a circle: these are called by requests

        buffer = io.BytesIO()
        pickler = pickle.Pickler(buffer)
        table: dict[Any, Any] = {torch.Tensor: _noted, RRef: sent_rref, **self._reducers}
        if isinstance(obj, torch.jit.ScriptModule):
            table[type(obj)] = _saved
        pickler.dispatch_table = {**copyreg.dispatch_table, **table}
        outer, _tables.sent = getattr(_tables, "sent", None), []
        try:
            pickler.dump(obj)
            return buffer.getvalue(), _tables.sent
        finally:
            _tables.sent = outer

    def deserialize(self, binary_data: bytes, tensor_table: list[Any]) -> Any:
        """The object; an AttributeError where a function or class of it is not here."""
        outer, _tables.received = getattr(_tables, "received", None), tensor_table
        try:
            return pickle.loads(binary_data)
        except AttributeError as error:
            told = AttributeError(
                f"{error} Default RPC pickler does not serialize\n            function code. Ensure that "
                "UDFs are defined on both caller and\n            callee modules."
            )
            told.__cause__ = error
            return told
        finally:
            _tables.received = outer


_internal_rpc_pickler = _InternalRPCPickler()


def serialize(obj: Any) -> tuple[bytes, list[Any]]:
    """The pickled object, and the tensors in it."""
    return _internal_rpc_pickler.serialize(obj)


def deserialize(binary_data: bytes, tensor_table: list[Any]) -> Any:
    """The object."""
    return _internal_rpc_pickler.deserialize(binary_data, tensor_table)


def remote_exception(error: BaseException, me: Any) -> Any:
    """What a caller is told of an exception, which is also printed here."""
    lines = "".join(traceback.format_exception(error))
    text = f"On {me}:\n{error!r}\n{lines}"
    print(text, file=sys.stderr)
    return RemoteException(text, type(error))


def _run_function(python_udf: Any) -> Any:
    """What a call comes to; a RemoteException where it raises."""
    from rushlight.distributed.rpc.state import agent  # a circle

    try:
        if isinstance(python_udf, AttributeError):
            raise python_udf
        return python_udf.func(*python_udf.args, **python_udf.kwargs)
    except Exception as error:
        return remote_exception(error, agent().get_worker_info())


def _handle_exception(result: Any) -> None:
    """Raise what a worker has raised, by its own type where that takes a text."""
    if not isinstance(result, RemoteException):
        return
    try:
        error = result.exception_type(result.msg)
    except BaseException as failed:
        raise RuntimeError(
            f"Failed to create original exception type. Error msg was {failed}"
            f" Original exception on remote side was {result.msg}"
        ) from failed
    raise error


def _build_rpc_profiling_key(
    exec_type: RPCExecMode, func_name: str, current_worker_name: str, dst_worker_name: str
) -> str:
    """What profilers call a call."""
    return f"rpc_{exec_type.value}#{func_name}({current_worker_name} -> {dst_worker_name})"
