"""assert_close: what is close, and the texts that say what is not."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.testing import assert_allclose, assert_close

t = torch.tensor
nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        (None, None, {}),
        (True, np.bool_(True), {}),
        (1, 1, {}),
        (1.0, 1.0 + 1e-9, {}),
        (inf, inf, {}),
        (1, 1.0, {"check_dtype": False}),
        (nan, nan, {"equal_nan": True}),
        (np.float32(2), 2.0, {}),
        (t([1.0, inf, nan]), t([1.000001, inf, nan]), {"equal_nan": True}),
        (t([1.0]).bfloat16(), t([1.01]).bfloat16(), {}),
        (torch.zeros(2), torch.zeros(2, dtype=torch.int32), {"check_dtype": False}),
        (t([1], dtype=torch.uint16), t([1]), {"check_dtype": False}),
        (torch.zeros(2, device="meta"), torch.ones(2, device="meta"), {}),
        (torch.zeros(2), torch.zeros(2, device="meta"), {"check_device": False}),
        (torch.zeros(2, 3), torch.zeros(3, 2).t(), {}),
        (torch.nn.Parameter(torch.zeros(2)), torch.zeros(2), {}),
        (np.array([1.0]), np.array([1.0]), {}),
        (torch.zeros(0), torch.zeros(0), {}),
        ([t(1.0), {"a": 2}], (t(1.0), {"a": 2}), {}),
        (t([1.0]).to(torch.float8_e4m3fn), t([1.0]).to(torch.float8_e4m3fn), {}),
    ],
)
def test_what_is_close(actual, expected, options):
    assert_close(actual, expected, **options)


@pytest.mark.parametrize(
    ("actual", "expected", "options", "text"),
    [
        (
            1,
            3,
            {},
            "Scalars are not equal!\n\nExpected 3 but got 1.\nAbsolute difference: 2\n"
            "Relative difference: 0.6666666666666666",
        ),
        (
            1.0,
            0.0,
            {},
            "Scalars are not close!\n\nExpected 0.0 but got 1.0.\n"
            "Absolute difference: 1.0 (up to 1e-07 allowed)\nRelative difference: inf (up to 1e-07 allowed)",
        ),
        (1, 1.0, {}, "The (d)types do not match: <class 'int'> != <class 'float'>."),
        (
            inf,
            1.0,
            {"rtol": 1, "atol": 1},
            "Scalars are not close!\n\nExpected 1.0 but got inf.\n"
            "Absolute difference: inf (up to 1 allowed)\nRelative difference: inf (up to 1 allowed)",
        ),
        (None, 1, {}, "None mismatch: None is not 1"),
        (True, False, {}, "Booleans mismatch: True is not False"),
        (
            t([[0.0, 1.0], [2.0, 100.0]]),
            t([[1.0, 1.0], [2.0, 150.0]]),
            {},
            "Tensor-likes are not close!\n\nMismatched elements: 2 / 4 (50.0%)\n"
            "Greatest absolute difference: 50.0 at index (1, 1) (up to 1e-05 allowed)\n"
            "Greatest relative difference: 1.0 at index (0, 0) (up to 1.3e-06 allowed)",
        ),
        (
            t([1, 2], dtype=torch.uint8),
            t([1, 3], dtype=torch.uint8),
            {},
            "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\n"
            "Greatest absolute difference: 1 at index (1,)\n"
            "Greatest relative difference: 0.3333333432674408 at index (1,)",
        ),
        (
            torch.ones(2).to(torch.float8_e5m2),
            t([1.0, 2.0]).to(torch.float8_e5m2),
            {},
            "Tensor-likes are not 'equal'!\n\nMismatched elements: 1 / 2 (50.0%)\n"
            "The first mismatched element is at index (1,).",
        ),
        (
            torch.zeros(2, 3),
            torch.zeros(3, 2),
            {},
            "The values for attribute 'shape' do not match: torch.Size([2, 3]) != torch.Size([3, 2]).",
        ),
        (
            torch.zeros(2, 3),
            torch.zeros(3, 2).t(),
            {"check_stride": True},
            "The values for attribute 'stride()' do not match: (3, 1) != (1, 2).",
        ),
        (
            torch.zeros(1),
            torch.zeros(1, device="meta"),
            {},
            "The values for attribute 'device' do not match: cpu != meta.",
        ),
        (
            np.zeros(1),
            np.zeros(1, np.float32),
            {},
            "The values for attribute 'dtype' do not match: torch.float64 != torch.float32.",
        ),
        (
            {"a": [1, {"z": 1}]},
            {"a": [1, {"z": 2}]},
            {},
            "Scalars are not equal!\n\nExpected 2 but got 1.\n"
            "Absolute difference: 1\nRelative difference: 0.5\n\nThe failure occurred for item ['a'][1]['z']",
        ),
        (
            [[1]],
            [[1, 2]],
            {},
            "The length of the sequences mismatch: 1 != 2\n\nThe failure occurred for item [0]",
        ),
        (
            {"a": 1, "b": 2},
            {"a": 1, "c": 2},
            {},
            "The keys of the mappings do not match:\n"
            "Missing keys in the actual mapping: ['c']\nAdditional keys in the actual mapping: ['b']",
        ),
        (1, 2, {"msg": "mine"}, "mine"),
        (True, False, {"msg": lambda text: f"<{text}>"}, "<Booleans mismatch: True is not False>"),
    ],
)
def test_the_text_of_what_differs(actual, expected, options, text):
    with pytest.raises(AssertionError) as error:
        assert_close(actual, expected, **options)
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        (t(1.0), 1.0, {}),
        (np.ones(1), torch.ones(1), {}),
        ("a", "a", {}),
        ([1], 1, {}),
        (object(), object(), {}),
        (torch.nn.Parameter(torch.ones(1)), torch.ones(1), {"allow_subclasses": False}),
    ],
)
def test_what_cannot_be_compared(actual, expected, options):
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
        assert_close(actual, expected, **options)


def test_both_tolerances_or_none():
    with pytest.raises(ValueError, match="must be either specified or omitted, but got no atol"):
        assert_close(1.0, 1.0, rtol=1e-3)
    with pytest.raises(RuntimeError, match="bool"):
        assert_close(True, 1)


def test_assert_allclose_is_deprecated():
    with pytest.warns(FutureWarning, match="deprecated since 1.12"):
        assert_allclose([1.0, nan], t([1.00001, nan], dtype=torch.float64))
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match=r"up to 0.0001 allowed"):
        assert_allclose(1.0, 2.0)


def test_sparse_tensors_are_compared_part_by_part():
    eye = torch.eye(3)
    coo, csr = eye.to_sparse(), eye.to_sparse_csr()
    assert_close(coo, eye.to_sparse())
    assert_close(csr, eye.to_sparse_csr())
    assert_close(coo, eye, check_layout=False)
    with pytest.raises(AssertionError, match="Sparse COO values are not close!"):
        assert_close(coo, coo * 2)
    with pytest.raises(AssertionError, match="specified values in sparse CSR tensors does not match: 3 != 9"):
        assert_close(csr, torch.ones(3, 3).to_sparse_csr())
    with pytest.raises(AssertionError, match="'layout' do not match"):
        assert_close(coo, csr)


def test_sparse_tensors_are_compared_as_they_are():
    one = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2], (2, 2))
    other = torch.sparse_coo_tensor([[0, 1, 1], [1, 0, 0]], [1, 1, 1], (2, 2))
    with pytest.raises(AssertionError, match="specified values in sparse COO tensors does not match: 2 != 3"):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(one, one.clone())
    with pytest.raises(AssertionError, match="Sparse COO values are not"):
        torch.testing.assert_close(one, one * 2)
