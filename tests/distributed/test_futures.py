"""torch.futures: what a Future tells, and when it refuses."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import rushlight as torch
from rushlight.distributed.communication.work import Future, collect_all, wait_all


def _completed(value: Any) -> Future:
    future = Future()
    future.set_result(value)
    return future


def _fail(future: Future) -> None:
    raise ValueError("expected")


def test_callbacks_tell_what_went_wrong() -> None:
    assert _completed(5).then(lambda future: future.value() + 1).wait() == 6
    failed = _completed(5).then(_fail)
    text = r"Got the following error when running the callback: ValueError: expected\n\nAt:\n.*: _fail\n"
    for ask in (failed.wait, failed.value, lambda: wait_all([failed, _completed(1)])):
        with pytest.raises(RuntimeError, match=text):
            ask()
    with pytest.raises(RuntimeError, match="takes 0 positional arguments but 1 was given"):
        takes_none: Any = lambda: None  # noqa: E731
        _completed(5).then(takes_none).wait()
    own = Future()
    own.set_exception(ValueError("its own"))
    with pytest.raises(ValueError, match="its own"):
        own.wait()


def test_a_future_is_completed_once_and_not_pickled() -> None:
    future = _completed(1)
    with pytest.raises(RuntimeError, match="Future can only be marked completed once"):
        future.set_result(2)
    with pytest.raises(RuntimeError, match="Future can only be marked completed once"):
        future.set_exception(ValueError())
    with pytest.raises(AssertionError, match="3 is of type <class 'int'>, not an Exception"):
        Future().set_exception(3)
    with pytest.raises(RuntimeError, match="Can not pickle torch.futures.Future"):
        pickle.dumps(future)
    with pytest.raises(RuntimeError, match="not completed"):
        Future().value()


def test_none_is_no_future() -> None:
    nothing: Any = [None]
    for call in (lambda: collect_all(nothing), lambda: wait_all(nothing), lambda: torch.jit.wait(None)):
        with pytest.raises(RuntimeError, match="Future can't be None"):
            call()
    assert wait_all([_completed(1), _completed(2)]) == [1, 2]
