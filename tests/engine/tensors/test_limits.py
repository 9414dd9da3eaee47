"""finfo as PyTorch 2.13 prints it."""

import pytest

import rushlight as torch

PRINTED = {
    "float16": "resolution=0.001, min=-65504, max=65504, eps=0.000976562, smallest_normal=6.10352e-05",
    "bfloat16": "resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, smallest_normal=1.17549e-38",
    "float32": "resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38",
    "float64": "resolution=1e-15, min=-1.79769e+308, max=1.79769e+308, eps=2.22045e-16, "
    "smallest_normal=2.22507e-308",
    "float8_e4m3fn": "resolution=1, min=-448, max=448, eps=0.125, smallest_normal=0.015625",
    "float8_e5m2": "resolution=1, min=-57344, max=57344, eps=0.25, smallest_normal=6.10352e-05",
}


@pytest.mark.parametrize("name", PRINTED)
def test_finfo(name: str) -> None:
    info = torch.finfo(getattr(torch, name))
    assert repr(info) == f"finfo({PRINTED[name]}, tiny={info.tiny:g}, dtype={name})"
    assert repr(info.resolution) == repr(float(f"{info.resolution:g}"))


def test_pythons_number_types_are_dtypes() -> None:
    x = torch.ones(2, 2)
    assert torch.finfo(float).eps == torch.finfo(torch.float64).eps
    assert torch.iinfo(int).max == 2**63 - 1
    assert x.to(dtype=float).dtype == x.to(float).view(float).dtype == torch.float64
    assert x.to("cpu", int).dtype == torch.int64
    assert torch.promote_types(int, torch.int8) == torch.int64
    assert torch.can_cast(float, torch.float32) and not torch.can_cast(complex, torch.float32)
    assert next(torch.nn.Linear(2, 2).to(dtype=float).parameters()).dtype == torch.float64
    for refused in (lambda: x.to(dtype=str), lambda: x.view(str), lambda: torch.iinfo(bool)):
        with pytest.raises(TypeError):
            refused()
