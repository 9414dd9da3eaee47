"""FakeTensorMode: whole programs on tensors without memory."""

import copy
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight._subclasses.fake_tensor import (
    DataDependentOutputException,
    FakeCopyMode,
    FakeTensor,
    FakeTensorDeviceMismatchError,
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedOperatorException,
)
from rushlight._subclasses.meta_utils import MetaConverter


def test_models_are_made_and_trained() -> None:
    with FakeTensorMode():
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 2))
        optimizer = torch.optim.Adam(model.parameters())
        found = model(torch.randn(2, 3, 8, 8))
        found.sum().backward()
        optimizer.step()
        optimizer.step()
    assert all(isinstance(t, FakeTensor) for t in model.state_dict().values())
    assert repr(found) == "FakeTensor(..., size=(2, 2), grad_fn=<AddmmBackward0>)"
    assert repr(model[3].bias) == "Parameter(FakeTensor(..., size=(2,), requires_grad=True))"
    assert model[0].weight.grad.shape == (4, 3, 3, 3)


def test_numbers_of_constants_are_known() -> None:
    with FakeTensorMode():
        five = torch.tensor(5)
        assert isinstance(five, FakeTensor) and (five + 1).item() == 6
        five.add_(2)
        assert five.item() == 7 and five.tolist() == 7
        assert torch.tensor([1.0, 2.0]).shape == (2,) and torch.as_tensor([3]).dtype is torch.int64
        with pytest.raises(DataDependentOutputException):
            torch.rand(1).item()
        with pytest.raises(DataDependentOutputException):
            torch.tensor([1, 2]).tolist()


def test_devices() -> None:
    with FakeTensorMode():
        card = torch.randn(3, device="cuda")
        assert repr(card + 1) == "FakeTensor(..., device='cuda:0', size=(3,))"
        assert card.cpu().device.type == "cpu" and (card + torch.tensor(1.0)).device.type == "cuda"
        with pytest.raises(FakeTensorDeviceMismatchError, match="cuda:0 and cpu!"):
            card + torch.randn(3)


def test_what_is_not_fake() -> None:
    real, layer = torch.randn(3), nn.Linear(2, 2)
    mode = FakeTensorMode()
    with mode, pytest.raises(AssertionError, match=r"aten.add.Tensor\(tensor\(\[...\], size=\(3,\)\), 1\)"):
        real + 1
    with mode:
        assert repr(real).startswith("tensor([")
    with pytest.raises(AssertionError, match="Mixing fake modes NYI"):
        mode.from_tensor(real) + FakeTensorMode().from_tensor(real)
    assert isinstance(mode.from_tensor(layer.weight), nn.Parameter)


def test_numbers_are_forgotten_where_memory_is_written_to() -> None:
    with FakeTensorMode():
        x: Any = torch.tensor([1])
        wide: Any = x.expand([4])
        assert x.constant is not None and wide.constant is None
        wide[0] = 5
        assert x.constant is None
        y: Any = torch.tensor([1])
        y.resize_([2])
        assert y.constant is None
        z: Any = torch.tensor([1.0])
        z[:].add_(3)
        assert z.item() == 4.0


def test_an_op_of_numbers_alone_is_known() -> None:
    with FakeTensorMode():
        made: Any = torch.div(4, 3, rounding_mode="trunc")
        assert made.item() == 1
        unknown: Any = torch.zeros(1)
        assert unknown.constant is None


def test_real_tensors_beside_fake_ones_are_written_to_by_numbers_alone():
    count, many = torch.tensor(0), torch.zeros(2)
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert count.add_(1) is count and many.add_(torch.ones(2)) is many
    assert count == 1 and not many.any() and not hasattr(many, "constant")


def test_fake_tensors_share_memory_as_the_real_ones_do():
    x = torch.zeros(2, 2)
    mode = FakeTensorMode()
    one, other = mode.from_tensor(x), mode.from_tensor(x[0])
    assert one.untyped_storage() is other.untyped_storage()
    assert mode.from_tensor(x) is one and len(mode.fake_tensor_converter.tensor_memo) == 2
    assert one.detach().untyped_storage() is one.untyped_storage()
    del one, other, x
    assert len(mode.fake_tensor_converter.tensor_memo) == 0
    assert str(mode.from_tensor(torch.zeros(3)).storage()).startswith("...\n")


def test_copies_in_a_copy_mode_are_fake():
    copied, mode = torch.nn.BatchNorm2d(3), FakeTensorMode()
    with FakeCopyMode(mode):
        copied = copy.deepcopy(copied)
    assert all(isinstance(t, FakeTensor) for t in (*copied.parameters(), *copied.buffers()))
    assert isinstance(copied.weight, torch.nn.Parameter)


def test_ops_are_compared_with_what_they_give_on_fake_tensors():
    with torch._subclasses.CrossRefFakeMode():
        torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.ReLU()).eval()(torch.ones(2, 3, 4, 4))
        torch.full((2, 2), 1).t().nonzero()
    library = torch.library.Library("tests_cross_ref", "DEF")
    library.define("wrong(Tensor x) -> Tensor")
    library.impl("wrong", lambda x: x[:1].clone(), "CPU")
    library.impl("wrong", lambda x: x.clone(), "Meta")
    with torch._subclasses.CrossRefFakeMode():
        conjugate = torch.ones(2, 2, dtype=torch.complex64).conj()
        assert not conjugate.resolve_conj().is_conj() and conjugate.imag.is_neg()
    with torch._subclasses.CrossRefFakeMode(), pytest.raises(MetadataMismatchError, match="Shapes"):
        torch.ops.tests_cross_ref.wrong(torch.ones(2))


def test_meta_tensors_are_views_and_leaves_where_others_are():
    x = torch.randn(4, requires_grad=True)
    y = x.neg()
    to_meta = MetaConverter()
    m, leaf = to_meta(y[1:]), to_meta(x)
    assert m._is_view() and not m._base.is_leaf and m.storage_offset() == 1 and m.device.type == "meta"
    assert leaf.is_leaf and leaf.requires_grad and to_meta(x) is leaf and to_meta.successful()
    real = torch.view_as_real(torch.zeros(2, dtype=torch.complex64))
    assert to_meta(real).shape == (2, 2) and to_meta(3) == 3


@pytest.mark.parametrize("view", [lambda t: t.detach(), lambda t: t.view(1), lambda t: t.reshape(())])
def test_writes_to_fake_views_of_real_tensors_are_none_to_these(view):
    real = torch.zeros((), dtype=torch.long)
    with FakeTensorMode(allow_non_fake_inputs=True):
        made = view(real)
        made.add_(1)
    assert real.item() == 0


def test_ops_that_write_give_what_their_signatures_say() -> None:
    @torch.library.custom_op("fake_writes::nothing", mutates_args={"y"})
    def nothing(x: torch.Tensor, y: torch.Tensor) -> None:
        y.copy_(x.sum())

    @torch.library.custom_op("fake_writes::new", mutates_args={"y"})
    def new(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, y.copy_(x)])

    new.register_fake(lambda x, y: torch.cat([x, y]))
    with FakeTensorMode():
        x, y = torch.zeros(3), torch.tensor(1)
        assert nothing(x, x + 1) is None and new(x, x + 1).shape == (6,)
        nothing(x, y)
        with pytest.raises(DataDependentOutputException):
            y.item()


def test_devices_of_fake_tensors() -> None:
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    made = mode.from_tensor(torch.ones(3))
    made.fake_device = "cuda"
    other = FakeTensorMode(allow_non_fake_inputs=True).from_tensor(made)
    assert made.device == other.device == torch.device("cuda", 0) and other.fake_mode is not mode
    weight = mode.from_tensor(torch.nn.Parameter(torch.ones(2, 3)))
    again = other.fake_mode.from_tensor(weight)
    assert (
        isinstance(again, torch.nn.Parameter) and again.requires_grad and again.fake_mode is other.fake_mode
    )
    assert other.fake_mode.from_tensor(weight) is again
    with mode:
        assert isinstance(torch.from_numpy(np.ones(3)), FakeTensor)
        bag = torch.nn.EmbeddingBag(10, 3, mode="sum", device="meta")
        assert bag(torch.tensor([1, 2]), torch.tensor([0])).device.type == "meta"
    with torch._functorch.config.patch(fake_tensor_allow_meta=False), FakeTensorMode():
        with pytest.raises(AssertionError, match="must not be 'meta' when allow_meta is False"):
            torch.ones(3, device="meta")


def test_ops_that_say_nothing_of_fakes_are_refused() -> None:
    @torch.library.custom_op("fake_silent::op", mutates_args=(), device_types="cpu")
    def op(x: torch.Tensor) -> torch.Tensor:
        return x.cos()

    with FakeTensorMode(), pytest.raises(UnsupportedOperatorException, match="fake_silent.op.default"):
        op(torch.ones(2))


def test_keys_of_tensors() -> None:
    keys, plain = torch._C._dispatch_keys, "ADInplaceOrView, AutogradCPU, AutocastCPU"
    assert repr(keys(torch.ones(2))) == f"DispatchKeySet(CPU, {plain})"
    assert repr(keys(torch.ones(2).to_sparse())) == f"DispatchKeySet(SparseCPU, {plain})"
    turned = torch.ones(2, dtype=torch.complex64).conj()
    assert repr(keys(turned)) == f"DispatchKeySet(CPU, Conjugate, {plain})"
    assert torch._C._dispatch_key_set(torch.ones(2, device="meta")) == (
        "DispatchKeySet(Meta, ADInplaceOrView, AutogradMeta)"
    )
    with torch.inference_mode():
        assert repr(keys(torch.ones(2))) == "DispatchKeySet(CPU, AutocastCPU)"
    with FakeTensorMode():
        shown = f"DispatchKeySet(CPU, Python, {plain}, PythonTLSSnapshot)"
        assert repr(keys(torch.ones(2))) == shown


def test_memory_formats_are_kept() -> None:
    with FakeTensorMode():
        x = torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last)
        assert x.stride() == (192, 1, 24, 3)
        assert x.to(memory_format=torch.channels_last) is x
        assert torch.nn.functional.adaptive_avg_pool2d(x, 4).stride() == (48, 1, 12, 3)
    for device in ("cpu", "meta"):
        grad, x = torch.ones(2, 3, 4, 4, device=device), torch.ones(2, 3, 8, 8, device=device)
        last = x.to(memory_format=torch.channels_last)
        for given, strides in ((last, (192, 1, 24, 3)), (x, (192, 64, 8, 1))):
            assert torch.ops.aten._adaptive_avg_pool2d_backward(grad, given).stride() == strides
            found = torch.ops.aten.avg_pool2d_backward(grad, given, [2, 2], [2, 2], [0, 0], False, True, None)
            assert found.stride() == strides


def test_a_mode_that_is_entered_again() -> None:
    with FakeTensorMode() as mode:
        x = mode.from_tensor(torch.ones(2, 2))
        with mode:
            y = torch.mm(x, x)
        assert isinstance(x + y, FakeTensor)
    assert not isinstance(torch.ones(1), FakeTensor)


def test_fake_modes_are_found():
    from rushlight import _guards

    assert _guards.active_fake_mode() is None and _guards.detect_fake_mode([torch.ones(1), 2]) is None
    with FakeTensorMode() as mode:
        x = torch.ones(2)
        assert _guards.active_fake_mode() is mode is _guards.detect_fake_mode()
        with FakeTensorMode() as inner:
            assert _guards.active_fake_mode() is inner
            with pytest.raises(AssertionError, match="fake mode"):
                _guards.detect_fake_mode()
    assert _guards.detect_fake_mode({"a": x}) is mode
