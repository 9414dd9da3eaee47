"""vmap: what it refuses, as PyTorch words it, and what holds for parts of the batch."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.func import vmap


@pytest.mark.parametrize(
    ("op", "a", "b"),
    [("mm", (2, 2), (2,)), ("bmm", (3, 3, 3), (3,)), ("mv", (2,), (2,)), ("dot", (2, 2), (2,))],
)
def test_products_of_examples_with_other_dims(op, a, b):
    with pytest.raises(RuntimeError, match="Shape mismatch: Got incorrect dims"):
        vmap(getattr(torch, op))(torch.ones(2, *a), torch.ones(2, *b))


def test_the_same_numbers_in_each_part():
    torch.manual_seed(0)
    whole = vmap(lambda x: x + torch.rand(3), randomness="same")(torch.zeros(4, 3))
    torch.manual_seed(0)
    parts = vmap(lambda x: x + torch.rand(3), randomness="same", chunk_size=3)(torch.zeros(4, 3))
    assert torch.equal(whole, parts) and torch.equal(parts[0], parts[3])


def test_random_ops_in_place_and_with_out():
    x = torch.full((2, 3), 0.5)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(lambda p: torch.ones(3).bernoulli_(p))(x)
    with pytest.raises(RuntimeError, match="calling out variants of random operations"):
        vmap(lambda p: torch.randn(3, out=torch.empty(3)), randomness="different")(x)


def test_results_in_place_are_the_tensor():
    x = -torch.ones(2, 3)
    assert vmap(torch.Tensor.abs_)(x) is x and x.eq(1).all()


def test_unsafe_splits():
    parts = vmap(lambda x: torch.unsafe_chunk(x, 2))(torch.arange(8.0).reshape(2, 4))
    assert [p.tolist() for p in parts] == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]


def test_the_fallback_can_be_switched_off():
    interpreters = torch._C._functorch
    assert interpreters._is_vmap_fallback_enabled()
    interpreters._set_vmap_fallback_enabled(False)
    try:
        assert not interpreters._is_vmap_fallback_enabled()
    finally:
        interpreters._set_vmap_fallback_enabled(True)


def test_what_goes_in_comes_out():
    x = torch.randn(2, 3, 4)
    assert vmap(torch.Tensor.contiguous, in_dims=1, out_dims=1)(x.movedim(0, 1)).shape == (3, 2, 4)
    for d in (0, 1, -1):
        assert vmap(lambda t: t, in_dims=d, out_dims=d)(x) is x
    assert vmap(lambda t: t, in_dims=0, out_dims=1)(x) is not x


def test_repeats_places_and_turned_matrices():
    x, numbers = torch.randn(3, 2), torch.randn(3)
    assert torch.equal(vmap(lambda x: x.repeat(2, 3))(x)[1], x[1].repeat(2, 3))
    assert vmap(lambda x: x.tile(()))(numbers).shape == (3,)
    copied = vmap(lambda x, s: torch.index_copy(x, 0, torch.tensor([0]), s))(numbers, torch.ones(3, 1))
    assert copied.tolist() == [1, 1, 1]
    a, s, i = torch.randn(2, 4, 3), torch.randn(2, 2, 3), torch.tensor([[0, 2], [3, 1]])
    found = vmap(lambda x, i, s: torch.index_copy(x, 0, i, s))(a, i, s)
    assert torch.equal(found[1], torch.index_copy(a[1], 0, i[1], s[1]))
    with pytest.raises(RuntimeError, match="expects a tensor with <= 2 dimensions, but self is 3D"):
        vmap(torch.t)(torch.randn(2, 3, 4, 5))


@pytest.mark.parametrize("factored", [torch.linalg.qr, torch.geqrf])
def test_examples_that_are_no_matrices_are_not_factored(factored):
    with pytest.raises(RuntimeError, match="must have at least 2 dimensions"):
        torch.func.vmap(factored)(torch.ones(4, 4))
    assert torch.func.vmap(factored)(torch.ones(4, 3, 3))[0].shape == (4, 3, 3)


def test_steps_that_programs_replace(monkeypatch):
    """The steps of a vmap have PyTorch's names and arguments, and the next vmap calls what stands there."""
    import rushlight._functorch.vmap as steps

    seen = []
    for name in ("_process_batched_inputs", "_create_batched_inputs", "_unwrap_batched"):

        def step(*args, of=getattr(steps, name)):
            seen.append((of.__name__, len(args)))
            return of(*args)

        monkeypatch.setattr(steps, name, step)
    assert vmap(lambda x: {"a": x * 2}, chunk_size=2)(torch.arange(3))["a"].tolist() == [0, 2, 4]
    part = [("_create_batched_inputs", 4), ("_unwrap_batched", 5)]
    assert seen == [("_process_batched_inputs", 3), *part, *part]


def test_what_entered_a_vmap_is_known_to_the_next():
    kept = []

    def f(x):
        kept.append(x)
        return kept[0] * 10 + x

    assert [vmap(f)(torch.arange(3)).tolist() for _ in range(2)] == [[0, 11, 22]] * 2
    with pytest.raises(RuntimeError, match="outside the vmap"):
        kept[0] + 1
