"""torch.testing._internal.common_utils: PyTorch's TestCase and parametrized tests, as other projects use them."""

import os
import unittest

import numpy as np
import pytest

import rushlight as torch
from rushlight.testing._internal import common_utils
from rushlight.testing._internal.common_utils import (
    TemporaryFileName,
    TestCase,
    instantiate_parametrized_tests,
    parametrize,
    subtest,
)

t = torch.tensor
ones = torch.ones(2)
CASE = TestCase()
equal, not_equal = CASE.assertEqual, CASE.assertNotEqual


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        (1, 1.0, {}),
        (1, 1.00001, {}),
        (True, 1, {}),
        (t(1), 1, {}),
        (t([1]), 1, {}),
        (t(1.0, dtype=torch.float64), 1.000001, {}),
        (np.ones(2), torch.ones(2, dtype=torch.float64), {}),
        (ones, [1.0, 1.0], {}),
        ([1, 2], (1, 2), {}),
        (torch.Size([1]), (1,), {}),
        ({1}, {1}, {}),
        ({"a": ones}, {"a": ones + 1e-7}, {}),
        (float("nan"), float("nan"), {}),
        (ones, ones + 1e-4, {"atol": 1e-3, "rtol": 0}),
        (ones, ones.double(), {"exact_dtype": False}),
        (ones.to_sparse(), ones.to_sparse(), {}),
        (slice(1), slice(1), {}),
        (np.array(["a", "b"]), ["a", "b"], {}),
    ],
)
def test_equal(actual, expected, options):
    equal(actual, expected, **options)


@pytest.mark.parametrize(
    ("actual", "expected", "error", "text"),
    [
        (1, 1.0001, AssertionError, "Scalars are not close!"),
        (ones, 1, ValueError, "Only single element tensor-likes can be compared against a number. Got 2"),
        (ones, ones.double(), AssertionError, "'dtype' do not match: torch.float32 != torch.float64"),
        (ones, torch.ones(3), AssertionError, "'shape' do not match"),
        (ones, ones + 1e-4, AssertionError, "Tensor-likes are not close!"),
        ({1}, {2}, AssertionError, "Set comparison failed"),
        ("a", "b", AssertionError, "String comparison failed: 'a' != 'b'"),
        (int, float, AssertionError, "Type comparison failed"),
        ([1], 1, AssertionError, "Object comparison failed"),
        ({"a": [ones, 1]}, {"a": [ones, 2]}, AssertionError, r"item \['a'\]\[1\]"),
        (None, 1, AssertionError, "None mismatch"),
    ],
)
def test_different(actual, expected, error, text):
    with pytest.raises(error, match=text):
        equal(actual, expected)
    if error is AssertionError:
        not_equal(actual, expected)


def test_a_message_is_added_and_tolerances_have_a_floor():
    with pytest.raises(AssertionError, match=r"(?s)not close.*\nhello$"):
        equal(ones, ones + 1, "hello")

    class Loose(TestCase):
        precision = 1e-2

    loosely = Loose().assertEqual
    loosely(ones, ones + 1e-3)


def test_parametrized_tests_are_named_as_pytorchs_and_seeded():
    seen = []

    @instantiate_parametrized_tests
    class Cases(TestCase):
        @parametrize("a", [1, 2.5])
        @parametrize("b,c", [(torch.float32, None), (torch.device("cpu"), "x")])
        def test_two(self, a, b, c):
            seen.append((a, b, c))
            assert torch.initial_seed() == common_utils.SEED

        @parametrize("k", [subtest(1, name="one"), subtest(2, decorators=[unittest.skip("no")]), [3], True])
        def test_one(self, k):
            seen.append(k)

        @parametrize("k", [1], name_fn="n{}".format)
        def test_named(self, k):
            seen.append(k)

    names = [name for name in dir(Cases) if name.startswith("test_")]
    assert names == [
        "test_named_n1",
        *("test_one_k2", "test_one_k_2", "test_one_k_True", "test_one_one"),
        *("test_two_a_1_cpu_c_x", "test_two_a_1_float32_c0"),
        *("test_two_a_2_5_cpu_c_x", "test_two_a_2_5_float32_c0"),
    ]
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Cases).run(result)
    assert (result.testsRun, len(result.skipped), result.errors, result.failures) == (9, 1, [], [])
    assert (1, torch.float32, None) in seen
    assert [3] in seen


def test_a_file_and_names_of_the_suite_that_are_not_there():
    with TemporaryFileName() as name:
        assert os.path.exists(name)
    assert not os.path.exists(name)
    assert common_utils.skipIfTorchDynamo("reason")(test_equal) is test_equal
    assert torch._C._LinAlgError is torch.linalg.LinAlgError
    with pytest.raises(NotImplementedError, match="disable_gc"):
        common_utils.disable_gc()
