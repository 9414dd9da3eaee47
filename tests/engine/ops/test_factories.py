"""Factories by plans (dispatch/factories.py): later calls give what the first one gave, of memory of their own."""

import pytest

import rushlight as torch


def test_memory_is_fresh_each_time():
    for make in (
        lambda: torch.zeros(2, 3),
        lambda: torch.ones((2, 3)),
        lambda: torch.full([2, 3], 0.0),
        lambda: torch.zeros_like(torch.empty(2, 3)),
    ):
        first = make()
        before = first.clone()
        first.add_(1)
        assert torch.equal(make(), before)


def test_numbers_that_are_equal_are_told_apart():
    assert [torch.full((2,), v).dtype for v in (1, True, 1.0, 1 + 0j)] == [
        torch.int64,
        torch.bool,
        torch.float32,
        torch.complex64,
    ]
    assert torch.full((1,), 0.0).signbit().item() is False and torch.full((1,), -0.0).signbit().item() is True


@pytest.mark.parametrize(
    "call",
    [
        lambda n: torch.zeros(n, 4),
        lambda n: torch.randn((n, 4)),
        lambda n: torch.randint(0, 9, (n, 4)),
        lambda n: torch.full((n, 4), 2.0),
    ],
)
def test_sizes_are_ints(call):
    assert call(1).shape == (1, 4)
    with pytest.raises(TypeError):
        call(1.0)
    assert call(torch.tensor(1)).shape == (1, 4)


def test_the_default_dtype_holds_for_the_next_call():
    assert torch.zeros(3).dtype is torch.rand(3).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.zeros(3).dtype is torch.rand(3).dtype is torch.randn(3).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_draws_by_plans_go_on_with_the_stream():
    def draws():
        torch.manual_seed(3)
        return [
            f()
            for _ in range(60)
            for f in (
                lambda: torch.randn(4, 4),
                lambda: torch.rand(3),
                lambda: torch.randint(2, 9, (5,)),
                lambda: torch.empty(16).exponential_(),
                lambda: torch.empty(2, 8).normal_(),
                lambda: torch.rand_like(torch.empty(2, 2)),
                lambda: torch.randint(0, 2**40, (3,)),
            )
        ]

    plain = draws()
    generator, again = torch.Generator().manual_seed(3), []
    for _ in range(60):
        again += [
            torch.randn(4, 4, generator=generator),
            torch.rand(3, generator=generator),
            torch.randint(2, 9, (5,), generator=generator),
            torch.empty(16).exponential_(generator=generator),
            torch.empty(2, 8).normal_(generator=generator),
            torch.empty(2, 2).uniform_(generator=generator),
            torch.randint(0, 2**40, (3,), generator=generator),
        ]
    assert all(torch.equal(a, b) for a, b in zip(plain, again, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(plain, draws(), strict=True))


def test_what_is_drawn_is_the_callers():
    torch.manual_seed(0)
    first = torch.randn(4, 4)
    first.zero_()
    torch.manual_seed(0)
    assert torch.randn(4, 4).abs().sum() > 0


def test_sizes_and_strides_come_as_lists_too():
    assert torch.empty_strided([2, 3], [3, 1]).stride() == (3, 1)
    assert torch.ones(1).new_empty_strided([2, 3], [1, 2]).stride() == (1, 2)
    assert torch.empty_permuted([2, 3], [1, 0]).stride() == (1, 2)


def test_out_takes_requires_grad_over_and_no_other_layout():
    for made in (
        torch.zeros(2, out=torch.ones(2), requires_grad=True),
        torch.empty(2, out=torch.ones(2), requires_grad=True),
    ):
        assert made.requires_grad and made.is_leaf
    with pytest.raises(RuntimeError, match="layout"):
        torch.zeros(2, out=torch.ones(2), layout=torch.sparse_coo)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: torch.arange(0, 2.0**64), "invalid size, possible overflow"),
        (lambda: torch.arange(-5e300, 5e300, 1e-300), "invalid size, possible overflow"),
        (lambda: torch.arange(0, 2**62 + 1, 1), "overflow"),
        (lambda: torch.linspace(0, 1, 2**62), "overflow"),
        (
            lambda: torch.empty_strided([8], [2**61], dtype=torch.float64),
            "Storage size calculation overflowed",
        ),
        (lambda: torch.eye(2**33), "overflow"),
    ],
)
def test_sizes_that_no_memory_has(make, match):
    with pytest.raises(RuntimeError, match=match):
        make()


def test_block_diag_of_nothing():
    assert torch.block_diag().shape == (1, 0)
