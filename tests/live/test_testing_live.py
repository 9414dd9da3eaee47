"""torch.testing beside PyTorch's: values of make_tensor, texts of assert_close."""

import pytest

import rushlight
import rushlight.testing

torch = pytest.importorskip("torch")

DTYPES = (
    "bool",
    "uint8",
    "int16",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"low": -3.5, "high": 2},
        {"noncontiguous": True},
        {"low": float("-inf"), "high": float("inf")},
        {"exclude_zero": True, "low": 0, "high": 1.5},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_make_tensor(dtype, options):
    made = []
    for package in (rushlight, torch):
        package.manual_seed(3)
        made.append(
            package.testing.make_tensor((4, 5), dtype=getattr(package, dtype), device="cpu", **options)
        )
    ours, theirs = made
    assert (ours.tolist(), ours.stride(), ours.storage_offset()) == (
        theirs.tolist(),
        theirs.stride(),
        theirs.storage_offset(),
    )


@pytest.mark.parametrize(
    "dtype", DTYPES[:-2]
)  # PyTorch's absolute values of complex numbers vary in the last bit
def test_assert_close(dtype):
    texts = []
    for package in (rushlight, torch):
        package.manual_seed(4)
        pair = [
            package.testing.make_tensor((6, 7), dtype=getattr(package, dtype), device="cpu") for _ in range(2)
        ]
        with pytest.raises(AssertionError) as error:
            package.testing.assert_close({"a": [1, pair[0]]}, {"a": [1, pair[1]]})
        texts.append(str(error.value))
    assert texts[0] == texts[1]
