"""Results lie in memory as PyTorch's do, and what it refuses is refused: recorded with PyTorch 2.13.

tests/live/test_layouts_live.py compares the tables with an installed PyTorch.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

import rushlight
from rushlight._engine.core.settings import settings

# An expression, and its strides.
LAYOUTS = """
lay((4, 1, 3), (1, 12, 4)) + lay((4, 1, 3), (3, 3, 1))  # (1, 12, 4)
lay((4, 4), (1, 4)) < lay((4, 4), (4, 1))  # (1, 4)
lay((4, 4), (0, 1)) + lay((4,), (1,))  # (4, 1)
lay((4, 4), (0, 1)).half() * 2  # (4, 1)
lay((4, 3, 2), (2, 0, 1)).half().sqrt()  # (6, 2, 1)
torch.where(lay((4, 3), (1, 4)) > 0, lay((4, 3), (3, 1)), lay((4, 3), (3, 1)))  # (1, 4)
torch.addcmul(lay((2, 4, 3), (1, 6, 2)), lay((2, 1, 1), (1, 1, 1)), lay((2, 4, 3), (12, 3, 1)))  # (1, 6, 2)
torch.lerp(lay((5, 4), (1, 5)), lay((5, 4), (4, 1)), 0.3)  # (1, 5)
torch.addmm(lay((3, 4), (1, 3)), lay((3, 6), (6, 1)), lay((6, 4), (4, 1)))  # (4, 1)
lay((2, 3, 4), (1, 2, 6)).sum(0)  # (4, 1)
lay((2, 3, 4), (1, 2, 6)).amax(1, True)  # (4, 4, 1)
lay((2, 3, 4), (1, 2, 6)).long().any(2)  # (3, 1)
lay((2, 3, 4), (1, 2, 6)).masked_fill(lay((2, 3, 4), (12, 4, 1)) > 5, 0)  # (12, 4, 1)
lay((3, 3), (0, 1)).flip(1)  # (3, 1)
lay((2, 3, 4), (1, 2, 6)).flip(1)  # (1, 2, 6)
lay((2, 3), (0, 1)).argsort(-1)  # (3, 1)
lay((2, 3, 3), (3, 0, 1)).index_fill(2, torch.tensor([0]), 3)  # (9, 3, 1)
lay((3, 2, 2), (1, 3, 6)).cfloat().triu()  # (4, 2, 1)
lay((2, 3, 2), (1, 4, 2)).pow(lay((2, 3, 2), (6, 2, 1)))  # (1, 4, 2)
F.logsigmoid(lay((2, 3, 2), (1, 4, 2)))  # (6, 2, 1)
torch.positive(lay((3, 2), (4, 2)))  # (4, 2)
torch.conj_physical(lay((3, 2), (4, 2)))  # (4, 2)
last().float(memory_format=torch.contiguous_format)  # (48, 16, 4, 1)
lay((2, 3, 2, 2), (12, 4, 2, 1)).float(memory_format=torch.channels_last)  # (12, 1, 6, 3)
torch.cat([last(), last()], 1)  # (96, 1, 24, 6)
torch.cat([last(), last().contiguous()], 1)  # (96, 16, 4, 1)
torch.stack([last(), last()], 1)  # (96, 3, 1, 24, 6)
torch.cat([last3(), last3()], 1)  # (384, 1, 96, 24, 6)
F.max_pool2d(last(), 2)  # (12, 1, 6, 3)
F.max_pool2d(last(), 2, return_indices=True)[1]  # (12, 1, 6, 3)
F.max_pool3d(last3(), 2)  # (24, 1, 12, 6, 3)
F.avg_pool2d(last(), 2)  # (12, 1, 6, 3)
F.avg_pool3d(last3(), 2)  # (24, 8, 4, 2, 1)
F.adaptive_avg_pool2d(last(), 2)  # (12, 1, 6, 3)
F.adaptive_max_pool2d(last(), 2)  # (12, 1, 6, 3)
F.adaptive_max_pool3d(last3(), 2)  # (24, 8, 4, 2, 1)
F.max_unpool2d(*F.max_pool2d(last(), 2, return_indices=True), 2)  # (48, 1, 12, 3)
F.interpolate(last(), scale_factor=2)  # (192, 1, 24, 3)
F.interpolate(last(), scale_factor=2, mode="bilinear")  # (192, 1, 24, 3)
F.interpolate(last3(), scale_factor=2)  # (1536, 1, 192, 24, 3)
F.pad(last(), (1, 1, 1, 1))  # (108, 1, 18, 3)
F.pad(last3(), (1, 1))  # (288, 1, 72, 18, 3)
F.pixel_unshuffle(last(), 2)  # (48, 1, 24, 12)
F.group_norm(last(), 3)  # (48, 1, 12, 3)
F.batch_norm(last(), None, None, training=True)  # (48, 1, 12, 3)
F.conv2d(last(), torch.ones(2, 3, 2, 2))  # (18, 1, 6, 2)
last().renorm(2, 0, 1.0)  # (48, 16, 4, 1)
last() * torch.ones(1, 3, 1, 1)  # (48, 1, 12, 3)
torch.ones(1, 3, 1, 1) * last()  # (48, 1, 12, 3)
F.softmax(lay((4, 2, 4), (1, 4, 8)), -1)  # (8, 4, 1)
F.log_softmax(lay((2, 5, 5, 3), (75, 1, 15, 5)), -1)  # (75, 15, 3, 1)
F.layer_norm(lay((4, 2, 3, 4), (12, 48, 4, 1)), [3, 4])  # (24, 12, 4, 1)
lay((2, 3, 2), (2, 0, 4)).clone()  # (1, 2, 6)
lay((4, 2, 3), (3, 8, 0)).double()  # (3, 12, 1)
torch.zeros_like(lay((2, 3, 3, 4), (3, 1, 6, 0)))  # (12, 4, 24, 1)
lay((2, 3, 3, 4), (3, 1, 6, 0)).flip(1)  # (12, 4, 24, 1)
lay((400, 300), (1, 400)).relu()  # (1, 400)
lay((400, 2, 300), (1, 400, 800)).sin()  # (1, 400, 800)
lay((4, 3), (1, 4)).fmod(lay((4, 3), (0, 1)).double())  # (1, 4)
lay((17, 3, 3), (3, 1, 0)).int() / lay((1, 3, 3), (1, 1, 3)).int()  # (9, 3, 1)
lay((5, 1, 3), (1, 1, 5)).int().expand(5, 2, 3).transpose(1, 2) + lay((5, 3, 2), (1, 5, 15))  # (2, 10, 1)
lay((2, 3, 4), (0, 1, 3)).long().bitwise_and(lay((2, 3, 4), (12, 4, 1)).int())  # (12, 1, 3)
lay((3, 3), (1, 3)).cfloat().nan_to_num()  # (1, 3)
F.conv1d(torch.ones(2, 4, 9), lay((3, 4, 2), (8, 1, 4)))  # (24, 1, 3)
F.conv1d(lay((2, 4, 9), (36, 1, 4)), torch.ones(3, 4, 2))  # (24, 8, 1)
F.conv1d(torch.ones(2, 4, 9).half(), lay((3, 4, 2), (8, 1, 4)).half())  # (24, 1, 3)
F.conv_transpose1d(torch.ones(2, 4, 9), lay((4, 3, 2), (6, 1, 3)))  # (30, 1, 3)
F.conv2d(torch.ones(2, 17, 2, 3).half(), lay((2, 17, 2, 2), (4, 0, 2, 1)).half())  # (4, 2, 2, 1)
F.conv2d(last().bfloat16()[..., :3, :3], torch.ones(2, 3, 2, 2).bfloat16())  # (8, 1, 4, 2)
F.avg_pool1d(lay((2, 3, 4), (12, 1, 3)), 2)  # (6, 1, 3)
F.adaptive_avg_pool1d(lay((2, 3, 9), (27, 1, 3)), 2)  # (6, 1, 3)
F.max_pool1d(lay((2, 3, 4), (12, 1, 3)), 2)  # (6, 2, 1)
F.avg_pool1d(lay((3, 4), (1, 3)), 2)  # (2, 1)
F.pad(lay((3, 7, 2), (1, 6, 3)), (0, 0, -1, -1))  # (1, 6, 3)
last().roll(1, 1)  # (48, 1, 12, 3)
last().roll(1)  # (48, 16, 4, 1)
"""

# An expression, and the dtype of what it gives or the exception that it raises.
DTYPES = """
u16 + u16  # NotImplementedError
u16 - 1  # NotImplementedError
u16 // 2  # NotImplementedError
-u16  # NotImplementedError
u16.abs()  # NotImplementedError
u16 < u16  # NotImplementedError
u16.clamp(1, 2)  # NotImplementedError
torch.maximum(u16, u16)  # NotImplementedError
u16 @ u16  # NotImplementedError
u16.tril()  # NotImplementedError
u16.gather(0, zero)  # NotImplementedError
u16.masked_fill(u16 == u16, 1)  # NotImplementedError
u16.max()  # NotImplementedError
u16.max(0)  # NotImplementedError
u16.argmax()  # NotImplementedError
u16.nonzero()  # NotImplementedError
u16.trace()  # NotImplementedError
u16.topk(1)  # NotImplementedError
u16.add_(1)  # NotImplementedError
u16.index_fill_(0, zero[0], 1)  # NotImplementedError
F.pad(u16[None], (1, 1), mode="reflect")  # NotImplementedError
F.conv2d(i8[None, None], i8[None, None])  # torch.int8
F.conv2d(i8[None, None], i8[None, None, :2, :2], dilation=2)  # NotImplementedError
F.conv1d(i8[:1], i8[None, :1, :2], dilation=2)  # NotImplementedError
F.max_pool1d(i8, 2)  # NotImplementedError
F.max_pool1d(i8, 2, return_indices=True)[0]  # torch.int8
torch.clamp(b, b, b)  # NotImplementedError
torch.clamp(b, b)  # torch.bool
torch.clamp(b, False, True)  # NotImplementedError
torch.round(i8, decimals=0)  # NotImplementedError
torch.round(i8)  # torch.int8
torch.round(i8, decimals=1)  # NotImplementedError
torch.sparse.sampled_addmm(i8.to_sparse_csr(), i8, i8)  # RuntimeError
torch.sparse.mm(i8.to_sparse_csr(), i8, "amax")  # NotImplementedError
F.local_response_norm(i8[None].long(), 2)  # torch.float32
F.adaptive_avg_pool2d(i8[None].cfloat(), 1)  # torch.complex64
F.adaptive_avg_pool2d(i8[None].cfloat(), 2)  # NotImplementedError
F.adaptive_avg_pool2d(i8[None], 1)  # RuntimeError
F.scaled_dot_product_attention(i8.cfloat(), i8.cfloat(), i8.cfloat())  # NotImplementedError
i8.bitwise_or_(0.5)  # RuntimeError
i8.float().lcm(torch.ones(7))  # RuntimeError
torch.zeros(0, 3).cfloat().cummax(0)[0]  # torch.complex64
torch.zeros(0, 3).cfloat().amax(1)  # torch.complex64
torch.zeros(0, 3).bool().mm(torch.ones(3, 2).bool())  # torch.bool
torch.ones(2, 3).bool().mm(torch.ones(3, 2).bool())  # NotImplementedError
torch.tensor(3, dtype=torch.int32).sum_to_size(())  # torch.int64
torch.masked.amax(i8.cfloat(), 0, mask=b)  # TypeError
torch.nonzero(torch.ones(2, device="meta"))  # NotImplementedError
torch.unique(torch.ones(2, device="meta"))  # NotImplementedError
torch.multinomial(torch.ones(2, device="meta"), 3, True)  # torch.int64
torch.linalg.inv(torch.ones(3, 3, device="meta"))  # torch.float32
torch.zeros(3).cfloat().logcumsumexp(4)  # IndexError
torch.zeros(3).int().logcumsumexp(4)  # IndexError
torch.zeros(3).cfloat().amax(4)  # IndexError
torch.zeros(0, 3).cfloat().max(0)[0]  # IndexError
torch.zeros(3).cfloat().max(0)[0]  # RuntimeError
torch.zeros(3).cfloat().nansum(2)  # IndexError
torch.zeros(3).cfloat().sort(2)[0]  # IndexError
torch.zeros(3).bool().topk(1, 2)[0]  # IndexError
torch.zeros(3).int().mean(2)  # RuntimeError
torch.zeros(3).int().std(2)  # RuntimeError
torch.zeros(3).cfloat().argmax(2)  # RuntimeError
torch.zeros(0, 3).cfloat().median(0)[0]  # IndexError
torch.zeros(0).bool().median()  # torch.bool
torch.tensor(1j).cummax(0)[0]  # torch.complex64
torch.tensor(1j).mode()[0]  # torch.complex64
torch.tensor(1j).kthvalue(1)[0]  # torch.complex64
torch.zeros(0, 3).cfloat().kthvalue(1)[0]  # NotImplementedError
torch.aminmax(torch.tensor(1j), dim=0)[0]  # RuntimeError
torch.aminmax(torch.tensor(1j))[0]  # NotImplementedError
torch.zeros(0, 3).amax((0, 1))  # IndexError
torch.zeros(0).amax()  # RuntimeError
torch.zeros(0, 3).amax((0, 0))  # IndexError
torch.zeros(0, 3).cummax(5)[0]  # torch.float32
torch.zeros(0, 3).int().softmax(1)  # torch.int32
torch.ones(1).cfloat().expand(3).ceil_()  # NotImplementedError
torch.ones(1).expand(3).ceil_()  # RuntimeError
torch.ones(1).expand(3).fill_(2)  # torch.float32
torch.ones(1).expand(3).zero_()  # torch.float32
torch.ones(1).expand(3).conj_physical_()  # torch.float32
torch.ones(1).expand(3).__setitem__(slice(0, 2), 1)  # RuntimeError
torch.ones(1).expand(3).ldexp_(2)  # TypeError
torch.ones(5)[1:].ldexp_(torch.ones(5)[:-1])  # torch.float32
True ** b  # NotImplementedError
b ** True  # torch.bool
"""


def lines(table: str) -> list[tuple[str, str]]:
    """(expression, what is expected) of each line."""
    return [(a.strip(), b.strip()) for a, b in (line.split("  #") for line in table.strip().splitlines())]


def scope(torch: Any) -> dict[str, Any]:
    """What the expressions name."""

    def lay(sizes: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        room = 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        return torch.arange(1.0, room + 1).as_strided(sizes, strides)

    return {
        "torch": torch,
        "F": torch.nn.functional,
        "lay": lay,
        "last": lambda: torch.ones(2, 3, 4, 4).contiguous(memory_format=torch.channels_last),
        "last3": lambda: torch.ones(2, 3, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d),
        "u16": torch.tensor([[1, 2], [3, 4]]).to(torch.uint16),
        "b": torch.ones(3, 3, dtype=torch.bool),
        "i8": torch.arange(9, dtype=torch.int8).reshape(3, 3) % 3,
        "zero": torch.zeros(1, 2, dtype=torch.int64),
    }


def outcome(torch: Any, expression: str) -> str:
    """The result's dtype, or the exception's name."""
    try:
        return str(eval(expression, scope(torch)).dtype)
    except Exception as error:  # every kind is compared
        return type(error).__name__


@pytest.mark.parametrize("kernels", ["auto", "llvm"])
@pytest.mark.parametrize(("expression", "strides"), lines(LAYOUTS))
def test_layout(expression, strides, kernels):
    with settings.using(kernels=kernels):
        for _ in range(3):  # kernels, plans and first calls go other ways
            assert str(eval(expression, scope(rushlight)).stride()) == strides


def test_dtypes():
    # In a process of its own: array_api, once it is used, takes unsigned integers that PyTorch refuses.
    text = (
        "import json, sys, rushlight\nfrom tests.engine.ops import test_layouts as t\n"
        "print(json.dumps([t.outcome(rushlight, e) for e, _ in t.lines(t.DTYPES)]))"
    )
    found = json.loads(
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", text], check=True, capture_output=True, text=True
        ).stdout
    )
    expected = lines(DTYPES)
    assert [(e, f) for (e, _), f in zip(expected, found, strict=True)] == expected


def test_results_that_are_their_operands():
    x = rushlight.rand(3)
    assert rushlight.positive(x) is x and rushlight.conj_physical(x) is x and x.resolve_conj() is x


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_floor_division_rounds_each_step(name):
    of = getattr(rushlight, name)
    # Recorded; in float32 the first quotients are others.
    a, b = (
        rushlight.tensor([70.5, -43.25, 35.25, 7.0, -7.0, 0.0], dtype=of),
        rushlight.tensor([-0.5625, 0.16796875, -0.14453125, 2.0, 2.0, -3.0], dtype=of),
    )
    expected = {
        "bfloat16": [-127.0, -260.0, -243.0, 3.0, -4.0, -0.0],
        "float16": [-126.0, -258.0, -244.0, 3.0, -4.0, -0.0],
    }[name]
    assert a.floor_divide(b).tolist() == expected


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_two_byte_floats_are_added_once_along_outer_dims(name):
    of = getattr(rushlight, name)
    index, ones = rushlight.zeros(9, dtype=rushlight.int64), rushlight.ones(9, 2, dtype=of)
    large = 2.0 / rushlight.finfo(of).eps
    for x, dim, source, expected in (
        (ones[:1], 0, ones, large + 8),
        (ones[:1].T, 1, ones.T, large + 8),
        (ones[:1, 0], 0, ones[:, 0], large),
        (ones[:1, None], 1, ones[None], large),
    ):
        found = (x * large).index_add(dim, index, source * (8 / 9 if expected > large else 0.5))
        assert (found == expected).all()


def test_fmax_of_two_zeros():
    zeros, other = rushlight.tensor([0.0, -0.0]), rushlight.tensor([-0.0, 0.0])
    for op in (rushlight.fmax, rushlight.fmin):
        assert op(zeros, other).signbit().tolist() == [False, True]
        assert op(zeros.bfloat16(), other.bfloat16()).signbit().tolist() == [True, False]


def test_forward_derivative_of_logcumsumexp():
    x = rushlight.tensor([0.5, -1.0, 2.0])
    found = rushlight.func.jvp(lambda t: t.logcumsumexp(0), (x,), (rushlight.ones(3),))[1]
    assert rushlight.allclose(found, rushlight.ones(3))


def test_captured_tensors_are_not_written_to_under_jvp():
    y, x, one = rushlight.ones(3), rushlight.ones(3), rushlight.ones(3)
    for write in (lambda t: y.mul_(t), lambda t: y.copy_(t), lambda t: (y.add_(1), t)[1]):
        with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
            rushlight.func.jvp(write, (x,), (one,))
    assert type(y) is rushlight.Tensor and y.tolist() == [1, 1, 1]
    assert rushlight.func.jvp(lambda t: t.mul_(2), (x,), (one,))[1].tolist() == [2, 2, 2]


def test_views_on_the_meta_device_lie_where_others_do():
    x = rushlight.empty(12, device="meta")
    assert x.as_strided((2, 3), (3, 1), 4).storage_offset() == 4
    assert x[2:].as_strided((2,), (5,)).storage_offset() == 2
    assert x.as_strided((2,), (5,), 3).untyped_storage() is x.untyped_storage()
    assert x.as_strided((30,), (1,)).shape == (30,)  # beyond its storage, which is nowhere


def test_moments_of_rows_lie_alike_at_every_call():
    x = rushlight.arange(30.0).reshape(5, 6)
    for _ in range(4):
        for found in (*rushlight.std_mean(x, 1, keepdim=True), *rushlight.var_mean(x, 1, keepdim=True)):
            assert found.shape == (5, 1)
            assert found.stride() == (1, 1)
