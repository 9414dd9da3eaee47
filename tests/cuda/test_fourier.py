"""Fourier transforms of a device, by products: the CPU's, to rounding, forward and backward."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.devices("driver", 1)
fft = torch.fft


# Of real numbers x (4, 6, 10) and complex ones c (4, 6, 10).
CASES: dict[str, Any] = {
    "fft": lambda x, c: fft.fft(c),
    "fft of reals": lambda x, c: fft.fft(x, dim=0),
    "ifft": lambda x, c: fft.ifft(c, dim=1),
    "ortho": lambda x, c: fft.fft(c, norm="ortho"),
    "fft2": lambda x, c: fft.fft2(c),
    "fftn": lambda x, c: fft.fftn(c, norm="forward"),
    "rfft": lambda x, c: fft.rfft(x),
    "rfft of an odd size": lambda x, c: fft.rfft(x, n=7, dim=1),
    "rfft2": lambda x, c: fft.rfft2(x),
    "irfft": lambda x, c: fft.irfft(c),
    "irfft of an odd size": lambda x, c: fft.irfft(c, n=9),
    "irfftn": lambda x, c: fft.irfftn(c),
    "hfft": lambda x, c: fft.hfft(c),
    "ihfft": lambda x, c: fft.ihfft(x),
    "there and back": lambda x, c: fft.irfft(fft.rfft(x) * 2, n=10),
    "stft": lambda x, c: torch.stft(
        x.reshape(-1), 16, window=torch.hann_window(16, device=x.device), return_complex=True
    ),
}


@pytest.mark.parametrize("name", list(CASES))
def test_the_device_gives_what_the_cpu_gives(name: str) -> None:
    numbers = torch.randn(4, 6, 10), torch.randn(4, 6, 10, dtype=torch.complex64)
    here = [t.clone().requires_grad_() for t in numbers]
    there = [t.cuda().requires_grad_() for t in numbers]
    want, found = (CASES[name](*given) for given in (here, there))
    assert found.is_cuda and found.stride() == want.stride()
    torch.testing.assert_close(found.detach().cpu(), want.detach(), rtol=1e-4, atol=1e-5)
    want.abs().sum().backward()
    found.abs().sum().backward()
    for a, b in zip(here, there, strict=True):
        if a.grad is not None:
            torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [257, 300, 512, 1000, 1021, 4096, 65536])
def test_many_numbers(n: int) -> None:
    z = torch.randn(2, n, dtype=torch.complex128)
    torch.testing.assert_close(fft.fft(z.cuda()).cpu(), fft.fft(z), rtol=1e-9, atol=1e-8)


def test_a_large_prime_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="_fft_c2c"):
        fft.fft(torch.randn(65537, dtype=torch.complex64, device="cuda"))
