"""Complex numbers by a device's kernels, part by part, forward and backward: the CPU's, to rounding."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.devices("driver", 1)


# Of complex c and e and real r.
CASES: dict[str, Any] = {
    "product": lambda c, e, r: c * e + c,
    "quotient": lambda c, e, r: c / e,
    "numbers": lambda c, e, r: c * (1 + 2j) + 1,
    "reals beside": lambda c, e, r: r * c - r,
    "size": lambda c, e, r: c.abs(),
    "angle": lambda c, e, r: c.angle(),
    "exp": lambda c, e, r: c.exp(),
    "log": lambda c, e, r: c.log(),
    "sqrt": lambda c, e, r: c.sqrt(),
    "powers": lambda c, e, r: c**2 + c**3 + c**0.5,
    "circular": lambda c, e, r: c.sin() + c.cosh() + c.cos() + c.sinh(),
    "reciprocal": lambda c, e, r: c.reciprocal(),
    "sgn": lambda c, e, r: c.sgn(),
    "conj": lambda c, e, r: (c.conj() * e).resolve_conj(),
    "parts": lambda c, e, r: c.imag * 2 + c.real,
    "sums": lambda c, e, r: c.sum() + c.sum(1)[0] + c.mean(),
    "polar": lambda c, e, r: torch.polar(r.abs(), r),
    "complex": lambda c, e, r: torch.complex(r, r * 2),
    "conversion": lambda c, e, r: r.to(torch.complex64) + c.to(torch.complex128),
    "equal": lambda c, e, r: (c == e) | (c != c),
    "transposed": lambda c, e, r: c.t() * e.t(),
    "broadcast": lambda c, e, r: c * e[0],
    "matrices": lambda c, e, r: c @ e.t(),
    "where": lambda c, e, r: torch.where(r > 0, c, e),
    "masked_fill": lambda c, e, r: c.masked_fill(r > 0, 1j),
    "view": lambda c, e, r: torch.view_as_real(c * e),
    "cat": lambda c, e, r: torch.cat([c, e]),
}


@pytest.mark.parametrize("name", list(CASES))
def test_the_device_gives_what_the_cpu_gives(name: str) -> None:
    of = torch.complex64
    numbers = torch.randn(4, 5, dtype=of), torch.randn(4, 5, dtype=of), torch.randn(4, 5)
    for _ in range(2):
        here = [t.clone().requires_grad_() for t in numbers]
        there = [t.cuda().requires_grad_() for t in numbers]
        want, found = (CASES[name](*given) for given in (here, there))
        assert found.is_cuda and found.stride() == want.stride()
        torch.testing.assert_close(found.detach().cpu(), want.detach(), rtol=1e-5, atol=1e-5)
        if want.requires_grad:
            want.abs().sum().backward()
            found.abs().sum().backward()
            for a, b in zip(here, there, strict=True):
                if a.grad is not None:
                    torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=1e-4, atol=1e-5)


def test_what_has_no_rule_is_refused_by_name() -> None:
    with pytest.raises(NotImplementedError, match="tan of complex numbers"):
        torch.randn(3, dtype=torch.complex64, device="cuda").tan()
