# Written by `python tools/stubs.py`.
"""torch.fft: discrete Fourier transforms, by their rows."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight._engine.tensors.geometry import StorageLayout
from typing import overload

def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The discrete Fourier transform, over one dim."""
def fft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The discrete Fourier transform, over two dims."""
def fftfreq(n: int, d: float = 1.0, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | int | _device | None = None, pin_memory: bool | None = False, requires_grad: bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The frequencies of fft's results, for n samples d apart."""
def fftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The discrete Fourier transform, over several dims."""
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Spectra with frequency 0 in the middle."""
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """fft of what the first half is given of, and conjugation gives the other, over one dim."""
def hfft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """fft of what the first half is given of, and conjugation gives the other, over two dims."""
def hfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """fft of what the first half is given of, and conjugation gives the other, over several dims."""
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of fft, over one dim."""
def ifft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of fft, over two dims."""
def ifftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of fft, over several dims."""
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of fftshift."""
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of hfft, over one dim."""
def ihfft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of hfft, over two dims."""
def ihfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of hfft, over several dims."""
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of rfft: real numbers from the first half of a spectrum, over one dim."""
def irfft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of rfft: real numbers from the first half of a spectrum, over two dims."""
def irfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The inverse of rfft: real numbers from the first half of a spectrum, over several dims."""
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The first half of a real operand's fft, which gives the other by conjugation, over one dim."""
def rfft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The first half of a real operand's fft, which gives the other by conjugation, over two dims."""
def rfftfreq(n: int, d: float = 1.0, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | int | _device | None = None, pin_memory: bool | None = False, requires_grad: bool | None = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The frequencies of rfft's results, for n samples d apart."""
def rfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
    """The first half of a real operand's fft, which gives the other by conjugation, over several dims."""
def __dir__() -> list[str]: ...
