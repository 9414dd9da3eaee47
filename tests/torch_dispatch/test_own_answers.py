"""Instances of classes with a `__torch_dispatch__` that answer for themselves, and what classes may answer."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight.multiprocessing.reductions import StorageWeakRef
from rushlight.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from rushlight.utils._pytree import tree_map_only


class Answering(torch.Tensor):
    """Gives what it holds for an op, and has no other answer."""

    told: dict[Any, Any]

    @staticmethod
    def __new__(cls, told: dict[str, Any], real: bool = False, **policies: Any) -> Any:
        if real:
            made = torch.Tensor._make_subclass(cls, torch.zeros(2, 3), False, **policies)
        else:
            made = torch.Tensor._make_wrapper_subclass(cls, (2, 3), **policies)
        made.told = told
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return args[0].told.get(str(func), NotImplemented)


@pytest.mark.parametrize("real", [False, True])
def test_sizes_and_strides_of_its_own(real: bool) -> None:
    told = {"aten.sym_size.default": (5, 7), "aten.sym_stride.default": (1, 5), "aten.dim.default": 2}
    t = Answering(told | {"aten.sym_numel.default": None}, real, dispatch_sizes_strides_policy="sizes")
    assert t.shape == t.size() == (5, 7)
    assert isinstance(t.shape, torch.Size)
    assert (t.size(1), t.stride(), t.stride(1), t.dim(), t.ndim, t.numel()) == (7, (1, 5), 5, 2, 2, 6)
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.ops.aten.is_contiguous'"):
        t.is_contiguous()
    plain = Answering({"aten.sym_stride.default": (1, 5)}, real, dispatch_sizes_strides_policy="strides")
    assert (plain.shape, plain.stride()) == ((2, 3), (1, 5))
    laid = Answering(
        {"aten.is_contiguous.memory_format": True}, real, dispatch_sizes_strides_policy="strides"
    )
    assert laid.is_contiguous(memory_format=torch.channels_last)


def test_a_place_and_a_layout_of_its_own() -> None:
    t = Answering({"prim.device.default": torch.device("meta")}, dispatch_device=True)
    assert t.device.type == "meta"
    assert t.is_meta
    assert not t.is_cpu
    assert t.layout is torch.strided
    with pytest.raises(TypeError, match="'torch.ops.prim.layout'"):
        _ = Answering({}, dispatch_layout=True).layout
    with pytest.raises(RuntimeError, match="Unknown policy"):
        Answering({}, dispatch_sizes_strides_policy="places")
    assert torch.ops.prim.device.default(torch.zeros(1)) == torch.device("cpu")


def test_strides_like_a_format() -> None:
    x = torch.zeros(2, 3, 4, 5)
    assert not torch.ops.aten.is_strides_like_format.default(x, torch.channels_last)
    last = x.to(memory_format=torch.channels_last)
    assert torch.ops.aten.is_strides_like_format.default(last, torch.channels_last)
    assert torch.ops.aten.is_non_overlapping_and_dense.default(last)
    assert not torch.ops.aten.is_non_overlapping_and_dense.default(x[:, 1:])
    assert torch.ops.aten.sym_stride.default(x) == torch.ops.aten.stride.default(x) == (60, 20, 5, 1)


def test_answers_that_no_op_has() -> None:
    with pytest.raises(RuntimeError, match="Unable to cast arf to Tensor"):
        Answering({"aten.neg.default": "arf"}).neg()
    with pytest.raises(RuntimeError, match="'int' is not an instance of 'sequence'"):
        Answering({"aten.max.dim": 3}).max(0)
    assert Answering({"aten.neg.default": None}).neg() is None


class Wrapped(torch.Tensor):
    """A wrapper whose views are told as such."""

    inner: Any

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.size(), strides=inner.stride())
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = tree_map_only(Wrapped, lambda t: t.inner, (args, kwargs or {}))
        out = tree_map_only(torch.Tensor, Wrapped, func(*given[0], **given[1]))
        return return_and_correct_aliasing(func, args, kwargs or {}, out)


def test_views_of_wrappers_share_their_storage() -> None:
    x = Wrapped(torch.ones(4, 4))
    own = StorageWeakRef(x.untyped_storage())
    assert all(StorageWeakRef(v.untyped_storage()) == own for v in (x.view(2, 8), x.t(), *x.split(2)))
    assert StorageWeakRef((x + 1).untyped_storage()) != own
    with pytest.raises(RuntimeError, match="invalid python storage"):
        x.untyped_storage().data_ptr()


def test_streams_by_their_numbers() -> None:
    stream = torch.Stream(stream_id=1, device_index=2, device_type=1)
    assert (stream.stream_id, stream.device_index, stream.device_type, stream.device.type) == (
        1,
        2,
        1,
        "cuda",
    )
    assert repr(stream) == "torch.Stream device_type=cuda, device_index=2, stream_id=1"
    told = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            told.append((str(func), args[1]))

    x = torch.zeros(1)
    with Mode():
        x.record_stream(stream)
    assert told[-1] == ("aten.record_stream.default", stream)
