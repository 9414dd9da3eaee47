"""What is said once of older spellings, and of what loses something; PyTorch 2.13's words."""

import warnings

import pytest

import rushlight as torch
from rushlight._engine.core import errors

SQUARE = torch.eye(3)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: torch.cross(SQUARE, SQUARE), "Using torch.cross without specifying the dim arg"),
        (lambda: torch.qr(SQUARE), "torch.qr is deprecated in favor of torch.linalg.qr"),
        (lambda: torch.cholesky(SQUARE), "torch.cholesky is deprecated in favor of torch.linalg.cholesky"),
        (lambda: torch.lu(SQUARE), "torch.lu is deprecated in favor of torch.linalg.lu_factor"),
        (lambda: torch.triangular_solve(SQUARE, SQUARE), "torch.triangular_solve is deprecated"),
        (lambda: torch.chain_matmul(SQUARE, SQUARE), "torch.chain_matmul is deprecated"),
        (lambda: torch.where(SQUARE.byte(), SQUARE, 0.0), "where received a uint8 condition tensor"),
        (lambda: torch.ones(2, 2, 2).T, "The use of `x.T` on tensors of dimension other than 2"),
        (lambda: torch.stft(torch.ones(40), 8, return_complex=True), "A window was not provided"),
        (lambda: torch.set_default_tensor_type("torch.FloatTensor"), "torch.set_default_tensor_type"),
    ],
)
def test_once(call, says, monkeypatch):
    monkeypatch.setattr(errors, "_warned", set())
    with pytest.warns(UserWarning, match=says):
        call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()


def test_no_degrees_of_freedom():
    for name in ("var", "std", "var_mean", "std_mean"):
        with pytest.warns(UserWarning, match=rf"{name}\(\): degrees of freedom is <= 0"):
            getattr(torch, name)(torch.ones(1))


def test_an_imaginary_part_is_lost(monkeypatch):
    monkeypatch.setattr(errors, "_warned", set())
    from rushlight._engine.ops.creation.copying import _way

    _way.cache_clear()
    with pytest.warns(UserWarning, match="Casting complex values to real discards the imaginary part"):
        assert torch.tensor([1 + 2j]).float().tolist() == [1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.tensor([1 + 2j]).bool().tolist() == [True]
