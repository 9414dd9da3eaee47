"""autocast: which ops run in which type, nesting, the cache of weights, state, custom Functions."""

from __future__ import annotations

import threading

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight._engine.ops.autocast import POLICIES
from rushlight._engine.ops.table import ROWS


def test_every_policy_is_of_a_row() -> None:
    assert [name for name in POLICIES if name not in ROWS] == []


def test_lists() -> None:
    wide, low = torch.ones(2, 2), torch.ones(2, 2).bfloat16()
    with torch.autocast("cpu"):
        for product in (
            wide @ wide,
            wide @ low,
            torch.addmm(wide, wide, wide),
            F.linear(wide, low),
            torch.einsum("ij,jk->ik", wide, wide),
        ):
            assert product.dtype is torch.bfloat16
        for delicate in (F.mse_loss(low, low), low.prod(0), F.binary_cross_entropy(low, low)):
            assert delicate.dtype is torch.float32
        for kept in (low.softmax(0), low + low, torch.nn.LayerNorm(2)(low)):
            assert kept.dtype is torch.bfloat16
        assert torch.einsum("i,j->ij", wide[0], wide[0]).dtype is torch.float32
        assert torch.cat([wide, low]).dtype is torch.float32
        assert (wide.double() @ wide.double()).dtype is torch.float64
        with pytest.raises(RuntimeError, match="prioritize"):
            torch.stack([low, low.half()])
        # In-place forms and out= are on no list.
        assert wide.clone().addmm_(wide, wide).tolist() == [[3, 3], [3, 3]]
        assert torch.mm(wide, wide, out=torch.empty(2, 2)).dtype is torch.float32


def test_nesting_and_decorator() -> None:
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is torch.float32
        with torch.autocast("cpu", dtype=torch.float16):
            assert (x @ x).dtype is torch.float16 is torch.get_autocast_dtype("cpu")
        assert (x @ x).dtype is torch.bfloat16
        others: list[bool] = []
        thread = threading.Thread(target=lambda: others.append(torch.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
        assert others == [False]
    assert torch.autocast("cpu")(lambda: x @ x)().dtype is torch.bfloat16
    assert (x @ x).dtype is torch.float32 and not torch.is_autocast_enabled("cpu")


def test_weights_are_cast_once() -> None:
    w, x = torch.nn.Parameter(torch.ones(2, 2)), torch.ones(2, 2)
    with torch.autocast("cpu"):
        with torch.no_grad():
            assert not (x @ w).requires_grad
        one, two = (x @ w).sum(), (x @ w).sum()
        with torch.no_grad():
            w.add_(1)
        assert (x @ w)[0, 0] == 2
        torch.clear_autocast_cache()
        assert (x @ w)[0, 0] == 4
    one.backward()  # both graphs go through the same cast
    two.backward()
    assert w.grad is not None and w.grad.dtype is torch.float32 and w.grad.tolist() == [[4, 4], [4, 4]]
    with torch.autocast("cpu"):
        assert (x @ w)[0, 0] == 4


def test_what_is_refused() -> None:
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        assert not torch.autocast("cpu", dtype=torch.float64)._enabled
    with pytest.warns(UserWarning, match="CUDA is not available"), torch.autocast("cuda"):
        assert not torch.is_autocast_enabled()
    with pytest.raises(RuntimeError, match="unsupported scalarType"):
        torch.autocast("meta")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(torch.device("cpu"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="requires a callable"):
        torch.autocast("cpu")(3)  # type: ignore[arg-type]


def test_state_by_hand() -> None:
    x = torch.ones(2, 2)
    torch.set_autocast_enabled("cpu", True)
    try:
        assert (x @ x).dtype is torch.bfloat16
        with pytest.warns(DeprecationWarning):
            assert torch.is_autocast_cpu_enabled()
    finally:
        torch.set_autocast_enabled("cpu", False)
    assert (x @ x).dtype is torch.float32
    assert torch.is_autocast_cache_enabled() and not torch.amp.is_autocast_available("meta")


def test_custom_functions() -> None:
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            seen.append(torch.is_autocast_enabled("cpu"))
            return grad * 2

    x = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu"):
        Double.apply(x).sum().backward()
    Double.apply(x).sum().backward()
    assert seen == [(torch.float32, False), False, (torch.bfloat16, False), False]


def test_norms_keep_a_low_type_beside_wide_parameters() -> None:
    x = torch.randn(3, 4, 5, 5)
    for norm in (torch.nn.BatchNorm2d(4), torch.nn.GroupNorm(2, 4), torch.nn.InstanceNorm2d(4, affine=True)):
        found = norm(x.bfloat16())
        assert found.dtype is torch.bfloat16
        assert torch.equal(found, norm(x.bfloat16().float()).bfloat16())


def test_compiled_programs_are_of_one_type() -> None:
    x = torch.ones(4, 4)
    product = torch.compile(lambda x: torch.mm(x, x), mode="reduce-overhead")
    for dtype in (torch.bfloat16, torch.float16):
        for _ in range(4):
            with torch.autocast("cpu", dtype=dtype):
                assert product(x).dtype is dtype
    assert product(x).dtype is torch.float32


@pytest.mark.parametrize("enabled", [1, 0, None, "on"])
def test_what_is_no_bool_switches_nothing(enabled):
    with pytest.raises(TypeError, match=r"argument 'enabled' \(position 2\) must be bool"):
        torch.autocast("cpu", enabled=enabled).__enter__()
    assert not torch.is_autocast_enabled("cpu")
    assert (torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()) == (1, 0)
