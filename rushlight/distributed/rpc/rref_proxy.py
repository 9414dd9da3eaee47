"""Calls of methods of a value that lies on another worker."""

from __future__ import annotations

from functools import partial
from typing import Any

from rushlight.distributed.communication.work import Future
from rushlight.distributed.rpc import api, functions
from rushlight.distributed.rpc.constants import UNSET_RPC_TIMEOUT


def _local_invoke(rref: Any, func_name: str, args: Any, kwargs: Any) -> Any:
    return getattr(rref.local_value(), func_name)(*args, **kwargs)


@functions.async_execution
def _local_invoke_async_execution(rref: Any, func_name: str, args: Any, kwargs: Any) -> Any:
    return getattr(rref.local_value(), func_name)(*args, **kwargs)


def _invoke_rpc(rref: Any, rpc_api: Any, func_name: str, timeout: float, *args: Any, **kwargs: Any) -> Any:
    def call(kind: Any) -> Any:
        waits = hasattr(getattr(kind, func_name, None), "_wrapped_async_rpc_function")
        invoke = _local_invoke_async_execution if waits else _local_invoke
        return rpc_api(rref.owner(), invoke, args=(rref, func_name, args, kwargs), timeout=timeout)

    if rpc_api is not api.rpc_async:
        return call(rref._get_type(timeout=timeout))
    kind = rref._get_type(timeout=timeout, blocking=False)
    if kind.done():
        return call(kind.wait())
    found = Future()

    def give(done: Any) -> None:
        try:
            found.set_result(done.wait())
        except Exception as error:
            found.set_exception(error)

    def begin(done: Any) -> None:
        try:
            call(done.wait()).add_done_callback(give)
        except Exception as error:
            found.set_exception(error)

    kind.add_done_callback(begin)
    return found


class RRefProxy:
    """Its methods are the value's, called on the owner."""

    def __init__(self, rref: Any, rpc_api: Any, timeout: float = UNSET_RPC_TIMEOUT) -> None:
        self.rref, self.rpc_api, self.rpc_timeout = rref, rpc_api, timeout

    def __getattr__(self, func_name: str) -> Any:
        return partial(_invoke_rpc, self.rref, self.rpc_api, func_name, self.rpc_timeout)
