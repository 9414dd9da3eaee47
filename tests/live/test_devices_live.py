"""Modules of devices that are not there: the same names, answers and exceptions as PyTorch's build for CPUs."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")
MODULES = ("accelerator", "cpu", "cuda", "cuda.memory", "mps", "xpu")
# Torch's own fail before they ask for the device.
OTHERWISE = {
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "can_device_access_peer",
    "set_device",
    "device",
    "device_of",
    "compile_shader",
    "set_per_process_memory_fraction",
    "change_current_allocator",
    "Event",
    "device_index",
}


def module(t: Any, name: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{name}")


def told(function: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args in ((), (0,)):
            try:
                found = function(*args)
            except TypeError:
                continue
            except Exception as error:
                return type(error).__name__
            return found if isinstance(found, (int, str, list, dict, type(None))) else type(found).__name__
    return "TypeError"


@pytest.mark.parametrize("name", MODULES)
def test_answers(name: str) -> None:
    theirs, ours = module(torch, name), module(rushlight, name)
    names = [n for n, f in vars(ours).items() if callable(f) and n in theirs.__all__ and n not in OTHERWISE]
    assert len(names) > 8
    assert {n: told(getattr(ours, n)) for n in names} == {n: told(getattr(theirs, n)) for n in names}


def test_figures_of_memory() -> None:
    wanted = {
        n
        for n in torch.cuda.memory.__all__
        if "mem" in n.lower() and n not in ("use_mem_pool", "CUDAPluggableAllocator")
    }
    assert wanted <= set(dir(rushlight.cuda.memory)) and wanted <= set(dir(rushlight.cuda))
    assert set(torch.accelerator.memory.__all__) <= set(dir(rushlight.accelerator))


def test_context_of_an_accelerator() -> None:
    for t in (rushlight, torch):
        with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
            with t.accelerator.device_index(0):
                pass


def test_modules_of_devices() -> None:
    for t in (rushlight, torch):
        assert [
            t.get_device_module(w) for w in (None, "cpu", t.device("cpu", 0), "cuda:1", "xpu", "mps")
        ] == [t.cpu, t.cpu, t.cpu, t.cuda, t.xpu, t.mps]
        with pytest.raises(
            RuntimeError, match="does not have a corresponding module registered as 'torch.meta'"
        ):
            t.get_device_module("meta")
        with pytest.raises(RuntimeError):
            t.get_device_module("nonsense")
