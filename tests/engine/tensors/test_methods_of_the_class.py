"""Methods that are no ops, called by the class: Tensor.dim(x) asks the class of x who takes it over."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import rushlight as torch
from rushlight.overrides import TorchFunctionMode

_NAMES = (
    "dim size numel ndimension element_size data_ptr is_complex is_conj is_shared is_pinned detach detach_ item "
    "tolist numpy backward retain_grad register_hook storage untyped_storage half bfloat16 cuda xpu pin_memory "
    "share_memory_ apply_ map_ resize_ record_stream values indices crow_indices coalesce is_coalesced type "
    "__repr__ __reduce_ex__ __deepcopy__ __dlpack__ __contains__ __setstate__ _is_view"
).split()
_OF_ITSELF = (
    "__dlpack_device__ __bool__ __nonzero__ __len__ __int__ __long__ __index__ __float__ __complex__ __reversed__"
).split()
_ATTRIBUTES = (
    "shape dtype device ndim itemsize nbytes layout is_meta is_cuda is_leaf requires_grad grad grad_fn grad_dtype "
    "_grad _base _version _backward_hooks data T mT H mH real imag name output_nr retains_grad volatile"
).split()


class _Asked(torch.Tensor):
    heard: list[Any] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.heard.append(func)
        return -1


@pytest.mark.parametrize("name", [*_NAMES, *_OF_ITSELF])
def test_a_class_takes_over_what_is_called_by_tensor(name: str) -> None:
    x: Any = torch.Tensor._make_subclass(_Asked, torch.ones(2))
    method = getattr(torch.Tensor, name)
    _Asked.heard.clear()
    assert method(x, *[x] * (name in _NAMES)) == -1
    assert _Asked.heard == [method] and getattr(torch.Tensor, name) is method


@pytest.mark.parametrize("name", _ATTRIBUTES)
def test_a_class_takes_over_attributes_that_are_asked_of_tensor(name: str) -> None:
    x: Any = torch.Tensor._make_subclass(_Asked, torch.ones(2))
    attribute = getattr(torch.Tensor, name)
    _Asked.heard.clear()
    assert attribute.__get__(x) == -1
    assert _Asked.heard == [attribute.__get__] and getattr(torch.Tensor, name) is attribute
    assert attribute.__name__ == name


def test_a_class_takes_over_what_plain_tensors_refuse() -> None:
    x: Any = torch.Tensor._make_subclass(_Asked, torch.ones(2))
    for name in "_nnz q_scale int_repr _nested_tensor_size index to_mkldnn sparse_resize_".split():
        assert getattr(x, name)() == getattr(torch.Tensor, name)(x) == -1
        with pytest.raises(NotImplementedError, match=f"aten::{name}' with arguments from the 'CPU' backend"):
            getattr(torch.ones(2), name)()
    absent: Any = getattr(torch, "quantized_lstm_cell")
    assert absent(x) == -1 and _Asked.heard[-1] is absent
    with pytest.raises(NotImplementedError, match="is not there"):
        absent(torch.ones(2))
    torch.autograd.backward(x)
    assert _Asked.heard[-1] is torch.autograd.backward
    for function in (torch.distributed.all_gather, torch.nn.functional.linear_cross_entropy):
        took: Any = function
        assert took(x, x, x) == -1 and _Asked.heard[-1] is took


def test_plain_tensors_answer_some_of_these() -> None:
    x: Any = torch.ones(2, 3)
    half = x._autocast_to_reduced_precision(True, True, torch.float16, torch.bfloat16)
    assert half.dtype is torch.bfloat16 and half._autocast_to_full_precision(True, False) is half
    assert half._autocast_to_full_precision(True, True).dtype is torch.float32
    assert x[:, :2].slice_inverse(x).shape == (2, 3) and x.to_sparse()._dimI() == 2
    x.requires_grad_().register_post_accumulate_grad_hook(print)
    assert list(x._post_accumulate_grad_hooks.values()) == [print]


def test_modes_hear_factories() -> None:
    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func

    with Mode():
        made = [torch.tensor([1]), torch.as_tensor([1]), torch.asarray([1]), torch.sparse_coo_tensor(1, 1, 1)]
    assert made == [torch.tensor, torch.as_tensor, torch.asarray, torch.sparse_coo_tensor]


def test_modes_hear_attributes_and_protocols_one_after_the_other() -> None:
    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append(func)
            return func(*args, **(kwargs or {}))

    heard: list[Any] = []
    x = torch.ones(1)
    x.grad = torch.ones(1)
    with Mode(), Mode():
        assert bool(x) and len(x) == 1 and x.shape == (1,) and torch.Tensor.dtype.__get__(x) is torch.float32
        x.grad = None
    asked = (
        torch.Tensor.__bool__,
        torch.Tensor.__len__,
        torch.Tensor.shape.__get__,
        torch.Tensor.dtype.__get__,
    )
    assert heard == [each for each in (*asked, torch.Tensor.grad.__set__) for _ in range(2)]


def test_a_mode_hears_what_is_called_by_tensor() -> None:
    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append(func)
            return func(*args, **(kwargs or {}))

    heard: list[Any] = []
    x = torch.ones(2)
    with Mode():
        assert torch.Tensor.dim(x) == x.dim() == 1
    assert heard == [torch.Tensor.dim] * 2
    assert torch.Tensor.dim(x) == 1 and len(heard) == 2


def test_methods_of_the_class_are_replaced_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    own: Any = torch.Tensor.backward
    with monkeypatch.context() as patched:
        patched.setattr(torch.Tensor, "backward", lambda x: "replaced")
        assert torch.ones(1).backward() == "replaced"  # type: ignore[func-returns-value]
    assert torch.Tensor.backward is own
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0]


def test_a_class_has_its_own_methods() -> None:
    class Own(torch.Tensor):
        def dim(self) -> int:
            return 7

    x: Any = torch.ones(2).as_subclass(Own)
    assert Own.dim(x) == x.dim() == 7
    assert Own.size is torch.Tensor.size
    setattr(Own, "numel", lambda self: 8)
    assert x.numel() == 8 and torch.ones(2).numel() == 2
    delattr(Own, "numel")
    assert x.numel() == 2


@pytest.mark.parametrize(
    "name",
    "detach is_distributed norm_except_dim nuclear_norm native_norm int_repr q_scale dequantize smm spmm hspmm "
    "sym_float sym_int sym_max sym_not sym_sqrt _sym_cos _assert_async".split(),
)
def test_functions_that_are_no_rows_ask_before_they_begin(name: str) -> None:
    class Other:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append((func, args, types))
            return -1

    heard: list[Any] = []
    x, function = Other(), getattr(torch, name)
    args = (x, x) if name in ("smm", "spmm", "hspmm", "sym_max") else (x,)
    assert function(*args) == -1
    assert heard == [(function, args, (Other,))]
    assert function.__module__ == getattr(torch, "sym_sum").__module__ == torch.__name__


def test_numbers_by_functions_of_math() -> None:
    found: Any = torch
    assert found.sym_sqrt(4) == 2.0 and found._sym_cos(0.0) == 1.0 and found._sym_log2(8) == 3.0
    assert found.sym_sqrt is found._sym_sqrt and found._sym_tanh.__name__ == "_sym_tanh"
    assert found.sym_max(1, 2.0) == 2.0 and found.sym_sum([1, 2]) == 3


@pytest.mark.parametrize(
    "name", "dim size detach backward register_hook cuda float type to_dense add view".split()
)
def test_methods_of_the_class_are_pickled(name: str) -> None:
    method = getattr(torch.Tensor, name)
    assert pickle.loads(pickle.dumps(method)) is method
    assert (method.__name__, method.__qualname__) == (name, f"Tensor.{name}")


def test_a_method_that_is_given_back_is_the_tensors_own_again() -> None:
    own: Any = torch.Tensor.numel
    setattr(torch.Tensor, "numel", lambda x: "replaced")
    try:
        assert torch.ones(3).numel() == torch.Tensor.numel(torch.ones(3)) == "replaced"
    finally:
        setattr(torch.Tensor, "numel", own)
    assert torch.Tensor.numel is own and torch.Tensor.__dict__["numel"] is own.unasked
    assert torch.ones(3).numel() == own(torch.ones(3)) == 3
    delattr(torch.Tensor, "numel")  # where it lay before: in a part
    assert torch.Tensor.numel is own


def test_a_class_may_have_none_of_a_method_or_another_of_a_mixin() -> None:
    class Mixin:
        def dim(self) -> str:
            return "of the mixin"

    class Own(Mixin, torch.Tensor):
        size = None

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    heard: list[Any] = []
    x: Any = torch.ones(2).as_subclass(Own)
    heard.clear()
    assert Own.size is None and x.size is None
    assert Own.dim(x) == x.dim() == "of the mixin" and not heard
    assert x.numel() == Own.numel(x) == 2 and heard == [torch.Tensor.numel] * 2


def test_protocols_take_their_arguments_by_name() -> None:
    x: Any = torch.ones(2)
    assert x.__deepcopy__(memo={}).tolist() == [1.0, 1.0]
    assert x.__contains__(element=1.0) and torch.tensor(2.5).__format__(spec=".2f") == "2.50"
