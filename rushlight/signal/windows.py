"""Window functions (torch.signal.windows): M values, symmetric, or periodic with sym=False.

All take (M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False) and
give a 1-d tensor of float32 or float64 with a maximum of 1; M of 0 and 1 give no value and a one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import rushlight as torch

__path__: list[str] = []  # modules below it: names/placeholders.tsv

Tensor = torch.Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _window(name: str, M: int, options: dict[str, Any], shape: Callable[..., Tensor]) -> Tensor:
    """`shape(points)` where there are two points or more; points(a, b) counts M from a to b."""
    options = {"dtype": None, "layout": torch.strided, "device": None, "requires_grad": False, **options}
    unknown = options.keys() - {"dtype", "layout", "device", "requires_grad"}
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{min(unknown)}'")
    if options["dtype"] is None:
        options["dtype"] = torch.get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if options["layout"] is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {options['layout']}")
    if options["dtype"] not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {options['dtype']}")
    if M < 2:
        return torch.ones((M,), **options)
    return shape(lambda start, end: torch.linspace(start, end, M, **options))


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any
) -> Tensor:
    """exp(-|n - center| / tau); center may be given for periodic windows only."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = (M - sym) / 2 if center is None else center
    return _window(
        "exponential",
        M,
        options,
        lambda points: torch.exp(-torch.abs(points(-middle / tau, (M - 1 - middle) / tau))),
    )


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Half a period of a sine."""
    step = math.pi / max(M + (not sym), 1)
    return _window("cosine", M, options, lambda points: torch.sin(points(0.5 * step, (M - 0.5) * step)))


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """exp(-n**2 / (2 std**2)) around the middle."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    start, scale = -(M - sym) / 2, 1 / (std * math.sqrt(2))
    return _window(
        "gaussian",
        M,
        options,
        lambda points: torch.exp(-(points(start * scale, (start + M - 1) * scale) ** 2)),
    )


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """Bessel's i0 of an ellipse of height beta, over i0(beta)."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def shape(points: Callable[[float, float], Tensor]) -> Tensor:
        end = min(beta, -beta + (M - 1) * 2 * beta / (M - sym))
        k = points(-beta, end)
        top = torch.tensor(beta, dtype=k.dtype, device=k.device)
        return torch.i0(torch.sqrt(beta * beta - k * k)) / torch.i0(top)

    return _window("kaiser", M, options, shape)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A triangle."""
    return _window(
        "bartlett", M, options, lambda points: 1 - torch.abs(points(-1, -1 + (M - 1) * 2 / (M - sym)))
    )


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """The sum of (-1)**i a[i] cos(i x) over one period."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")

    def shape(points: Callable[[float, float], Tensor]) -> Tensor:
        x = points(0, (M - 1) * 2 * math.pi / (M - sym))
        signed = torch.tensor(
            [-w if i % 2 else w for i, w in enumerate(weights)], dtype=x.dtype, device=x.device
        )
        orders = torch.arange(len(weights), dtype=x.dtype, device=x.device)
        return (signed.unsqueeze(-1) * torch.cos(orders.unsqueeze(-1) * x)).sum(0)

    return _window("general_cosine", M, options, shape)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """alpha - (1 - alpha) cos."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.54 - 0.46 cos."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.5 - 0.5 cos."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.42 - 0.5 cos + 0.08 cos."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The four-term window of Nuttall with the lowest side lobes."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)
