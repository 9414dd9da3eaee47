"""torch.nn.parallel's functions without a GPU: containers are taken apart, tensors are refused."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import parallel


def test_containers_are_taken_apart():
    assert parallel.scatter((1, "a", None), [0, 1]) == [(1, "a", None)] * 2
    assert parallel.scatter({"a": [1, 2]}, [0, 1]) == [{"a": [1, 2]}] * 2
    assert parallel.scatter([], [0, 1]) == [[], []]
    assert parallel.scatter_gather.scatter_kwargs((), {"a": 3}, [0, 1]) == (((), ()), ({"a": 3}, {"a": 3}))
    assert parallel.gather([None, None], 0) is None


def test_replicas_of_what_has_no_parameters():
    first, second = parallel.replicate(nn.Sequential(nn.ReLU()), [0, 1])
    assert type(first[0]) is nn.ReLU and first[0] is not second[0]
    assert parallel.replicate(nn.Linear(2, 2), []) == []


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: parallel.scatter(x, [0]), RuntimeError, "accelerator"),
        (lambda x: parallel.scatter(x, ["cpu"]), ValueError, "Expected a non cpu device, but got: cpu"),
        (
            lambda x: parallel.gather([x, x], "cpu"),
            AssertionError,
            "Gather function not implemented for CPU tensors",
        ),
        (
            lambda x: parallel.replicate(nn.Linear(2, 2), [0]),
            AssertionError,
            "Broadcast function not implemented for CPU",
        ),
        (
            lambda x: parallel.parallel_apply([nn.ReLU()], [x]),
            RuntimeError,
            "Cannot access accelerator device",
        ),
        (
            lambda x: parallel.parallel_apply([nn.ReLU()] * 2, [x]),
            AssertionError,
            "The number of modules 2 is not equal",
        ),
        (lambda x: parallel.comm.reduce_add([x]), AssertionError, "expects all inputs to be on GPUs"),
    ],
)
def test_tensors_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(torch.ones(4, 2))


def test_names_that_modules_bear_too():
    import rushlight.nn.parallel.replicate
    import rushlight.nn.parallel.scatter_gather

    assert callable(rushlight.nn.parallel.replicate) and not callable(rushlight.nn.parallel.scatter_gather)


def test_functions_below_nn_functional():
    inner = torch._C._nn
    x, w = torch.ones(2, 3), torch.ones(4, 3)
    assert inner.linear(x, w).tolist() == [[3.0] * 4] * 2
    assert inner.gelu(x).tolist() == torch.nn.functional.gelu(x).tolist()
    assert inner.pad_sequence([x, x[:1]], True).shape == (2, 2, 3)
    with pytest.raises(AttributeError, match="has no attribute 'nothing_of_the_kind'"):
        inner.nothing_of_the_kind
    assert torch._nnpack_available() is False and not torch.backends.nnpack.is_available()


def test_a_name_in_two_dicts_is_told():
    with pytest.raises(ValueError, match=r"\['weight'\] appeared in multiple dictionaries"):
        torch.func.functional_call(
            nn.Linear(1, 1), ({"weight": torch.ones(1, 1)}, {"weight": torch.ones(1, 1)}), torch.ones(1, 1)
        )
