"""The deprecated assert_allclose: tolerances of its own, dtypes may differ, NaN equals NaN."""
from __future__ import annotations

import warnings
from typing import Any

import rushlight as torch
from rushlight.testing.comparison import assert_close

_TOLERANCES = {torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)}


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
                    equal_nan: bool = True, msg: str = "") -> None:
    """Deprecated: raise AssertionError unless the tensors are close; use `assert_close` instead.

    What is no tensor is made one with `torch.tensor`. Raises ValueError if only one of `rtol` and
    `atol` is given.
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future "
        "release. Please use `torch.testing.assert_close()` instead.", FutureWarning, stacklevel=2)
    actual, expected = (x if isinstance(x, torch.Tensor) else torch.tensor(x) for x in (actual, expected))
    if rtol is None and atol is None:
        rtols, atols = zip(*(_TOLERANCES.get(x.dtype, (0.0, 0.0)) for x in (actual, expected)))
        rtol, atol = max(rtols), max(atols)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False,
                 msg=msg or None)
