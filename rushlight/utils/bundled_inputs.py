"""torch.utils.bundled_inputs: scripted models that carry examples of their inputs, kept small in the file."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import rushlight as torch
from rushlight.jit.clones import arguments_type, cloned, register_attribute
from rushlight.jit.modules import ScriptModule

T = TypeVar("T")

MAX_RAW_TENSOR_SIZE = 16

_ONCE = (
    "Models can only be augmented with bundled inputs once. This Model seems to have already been augmented "
    "with bundled inputs. Please start afresh with one that doesn't have bundled inputs."
)


class InflatableArg(NamedTuple):
    """An input that is kept as something smaller.

    value: what is kept. fmt: TorchScript's expression for the input, with `{}` where `value` stands; or, with
    fmt_fn: the text of a method, whose name is written as `{}`, that makes the input of `value`.

    Example::

        >>> import rushlight as torch
        >>> from rushlight.utils.bundled_inputs import InflatableArg, bundle_inputs
        >>> model = torch.jit.script(torch.nn.Identity())
        >>> zeros = InflatableArg(value=torch.zeros(1), fmt="{}.expand(1000)")
        >>> bundle_inputs(model, [(zeros,)]).get_all_bundled_inputs()[0][0].shape
        torch.Size([1000])
    """

    value: Any
    fmt: str = "{}"
    fmt_fn: str = ""


def bundle_inputs(
    model: ScriptModule,
    inputs: Sequence[tuple[Any, ...]] | Mapping[Callable[..., Any], Sequence[tuple[Any, ...]] | None] | None,
    info: list[str] | dict[Callable[..., Any], list[str]] | None = None,
    *,
    _receive_inflate_expr: list[str] | None = None,
) -> ScriptModule:
    """A copy of a scripted model that has examples of inputs; those that the model had are left out.

    inputs: a list of tuples of arguments of forward, or such a list for each of several methods. Where it is
    None, the model has a method `_generate_bundled_inputs_for_<name>` that makes them. info: a text on each.
    The copy's methods: get_all_bundled_inputs_for_<name>() for each method,
    get_bundled_inputs_functions_and_info(), and for forward get_all_bundled_inputs() and
    get_num_bundled_inputs().
    """
    _check(model)
    methods, attributes = _get_bundled_inputs_attributes_and_methods(model)
    made: ScriptModule = cloned(model, methods, attributes)
    if isinstance(inputs, Mapping):
        if info is not None and not isinstance(info, dict):
            raise AssertionError("If inputs is a dict, info must be a dict or None")
        augment_many_model_functions_with_bundled_inputs(made, inputs, _receive_inflate_expr, info)
    else:
        if info is not None and not isinstance(info, list):
            raise AssertionError("If inputs is a list, info must be a list or None")
        augment_model_with_bundled_inputs(made, inputs, _receive_inflate_expr, info)
    return made


def augment_model_with_bundled_inputs(
    model: ScriptModule,
    inputs: Sequence[tuple[Any, ...]] | None = None,
    _receive_inflate_expr: list[str] | None = None,
    info: list[str] | None = None,
    skip_size_check: bool = False,
) -> None:
    """bundle_inputs for forward, in the model itself, which must have no inputs yet."""
    _check(model)
    forward = model.forward
    augment_many_model_functions_with_bundled_inputs(
        model, {forward: inputs}, _receive_inflate_expr, {forward: info} if info else None, skip_size_check
    )


def augment_many_model_functions_with_bundled_inputs(
    model: ScriptModule,
    inputs: Mapping[Callable[..., Any], Sequence[tuple[Any, ...]] | None],
    _receive_inflate_expr: list[str] | None = None,
    info: dict[Callable[..., Any], list[str]] | None = None,
    skip_size_check: bool = False,
) -> None:
    """bundle_inputs for several methods, in the model itself, which must have no inputs yet.

    skip_size_check: tensors may be large.
    """
    _check(model)
    if not inputs:
        raise Exception("Please provide inputs for at least 1 function")
    if hasattr(model, "get_all_bundled_inputs") or hasattr(model, "get_bundled_inputs_functions_and_info"):
        raise Exception(_ONCE)
    told = ""
    for function, examples in inputs.items():
        name = _name_of(function)
        _add(model, name, examples, _receive_inflate_expr, skip_size_check)
        texts = info[function] if info is not None and function in info else []
        told += f"""
            temp_dict : Dict[str,List[str]] = {{}}
            info: List[str] = {texts!r}
            temp_dict['info'] = info
            temp_dict['get_inputs_function_name'] = ['get_all_bundled_inputs_for_{name}']
            all_inputs[{name!r}] = temp_dict
        """
        if name == "forward":
            _define(model, _OF_FORWARD)
    _define(
        model,
        f"""
        def get_bundled_inputs_functions_and_info(self):
            all_inputs : Dict[str, Dict[str,List[str]]] = {{}}
            {textwrap.indent(textwrap.dedent(told), " " * 12)}
            return all_inputs
        """,
    )


_OF_FORWARD = """
    def get_all_bundled_inputs(self):
        return self.get_all_bundled_inputs_for_forward()
    def get_num_bundled_inputs(self):
        return len(self.get_all_bundled_inputs_for_forward())
"""


def _check(model: Any) -> None:
    if not isinstance(model, ScriptModule):
        raise Exception("Only ScriptModule is supported.")


def _name_of(function: Any) -> str:
    for attribute in ("__name__", "name"):
        if hasattr(function, attribute):
            return str(getattr(function, attribute))
    raise Exception(
        'At least one of your functions has no attribute name please ensure all have one. m.foo.name = "foo"'
    )


def _define(model: Any, text: str) -> None:
    model.define(textwrap.dedent(text))


def _add(model: Any, name: str, examples: Any, receive: list[str] | None, skip_size_check: bool) -> None:
    """The examples of one method, and the methods that give them."""
    generate = f"_generate_bundled_inputs_for_{name}"
    if examples is None:
        if not hasattr(model, generate):
            raise Exception(f"inputs for {name} must be specified if {generate} is not already defined")
    elif hasattr(model, generate):
        raise Exception(
            f"inputs is not None, but {generate} is already defined; "
            f"leave {generate} undefined, or inputs None"
        )
    else:
        _keep(model, name, examples, receive, skip_size_check)
    _define(
        model,
        f"""
        def get_all_bundled_inputs_for_{name}(self):
            all_inputs = self.{generate}()
            assert all_inputs is not None
            return all_inputs
        """,
    )


def _keep(model: Any, name: str, examples: Any, receive: list[str] | None, skip_size_check: bool) -> None:
    """What is kept of the examples, as an attribute, and the method that makes them of it."""
    kept, parts = [], []
    for i, example in enumerate(examples):
        if not isinstance(example, (tuple, list)):
            raise TypeError(f"Error bundled input for function {name} idx: {i} is not a Tuple or a List")
        values, lines = [], []
        for j, given in enumerate(example):
            helper = _get_inflate_helper_fn_name(j, i, name)
            value, expression, definition = _inflate_expr(
                given, f"deflated[{i}][{j}]", helper, skip_size_check
            )
            values.append(value)
            lines.append(f"    {expression},\n")
            if definition:
                _define(model, definition)
        kept.append(tuple(values))
        parts.append("(\n" + "".join(lines) + "),\n")
    attribute = f"_bundled_inputs_deflated_{name}"
    register_attribute(model, attribute, arguments_type(model, name), kept)
    made = "".join(parts)
    if receive is not None:
        receive.append(made)
    inside = textwrap.indent(made, " " * 8)
    model.define(
        f"def _generate_bundled_inputs_for_{name}(self):\n"
        f"    deflated = self.{attribute}\n"
        f"    return [\n{inside}    ]\n"
    )


def _inflate_expr(
    arg: T, ref: str, inflate_helper_fn_name: str, skip_size_check: bool = False
) -> tuple[T | torch.Tensor, str, str | None]:
    """What is kept of an input, the expression that makes the input of what stands at `ref`, and the text of
    a method that it calls, if it does.
    """
    if isinstance(arg, InflatableArg):
        if not arg.fmt_fn:
            return arg.value, arg.fmt.format(ref), None
        if arg.fmt not in ("{}", ""):
            raise Exception(
                f"Bundled input argument at position '{ref}' has both arg.fmt_fn => \n{arg.fmt_fn} "
                f"\n and arg.fmt  => {arg.fmt}. Please choose `arg.fmt` if the deflater is straightforward "
                "or `arg.fmt_fn` if you need a function."
            )
        return arg.value, f"self.{inflate_helper_fn_name}({ref})", arg.fmt_fn.format(inflate_helper_fn_name)
    if not isinstance(arg, torch.Tensor) or skip_size_check:
        return arg, ref, None
    size = arg.untyped_storage().nbytes() // arg.element_size()
    if size <= MAX_RAW_TENSOR_SIZE:
        return arg, ref, None
    if arg.is_contiguous() and arg.numel() <= MAX_RAW_TENSOR_SIZE:
        return arg.clone(), ref, None
    for order in (torch.contiguous_format, torch.channels_last):
        if arg.is_contiguous(memory_format=order) and bool((arg == arg.flatten()[0]).all().item()):
            one = arg.flatten()[0].clone().expand(*arg.size())
            return one, f"{ref}.contiguous(memory_format={order})", None
    raise Exception(
        f"Bundled input argument at position '{ref}' is a tensor with storage size {size}. "
        "You probably don't want to bundle this as an input. "
    )


def _get_inflate_helper_fn_name(arg_idx: int, input_idx: int, function_name: str) -> str:
    return f"_inflate_helper_for_{function_name}_input_{input_idx}_arg_{arg_idx}"


def _get_bundled_inputs_attributes_and_methods(script_module: ScriptModule) -> tuple[list[str], list[str]]:
    """The names of methods, and of attributes, that a model has for its examples."""
    methods: list[str] = []
    attributes: list[str] = []
    if hasattr(script_module, "get_all_bundled_inputs"):
        methods += ["get_all_bundled_inputs", "get_num_bundled_inputs", "run_on_bundled_input"]
    if hasattr(script_module, "get_bundled_inputs_functions_and_info"):
        methods.append("get_bundled_inputs_functions_and_info")
        for name in script_module.get_bundled_inputs_functions_and_info():
            methods += [f"get_all_bundled_inputs_for_{name}", f"_generate_bundled_inputs_for_{name}"]
            attributes.append(f"_bundled_inputs_deflated_{name}")
            for i, example in enumerate(getattr(script_module, attributes[-1])):
                helpers = (_get_inflate_helper_fn_name(j, i, name) for j in range(len(example)))
                methods += [helper for helper in helpers if hasattr(script_module, helper)]
    return methods, attributes


def bundle_randn(*size: int, dtype: torch.dtype | None = None) -> InflatableArg:
    """An input of random numbers, which are drawn anew each time it is asked for."""
    one = torch.zeros(1, dtype=dtype).expand(*size)
    return InflatableArg(value=one, fmt="torch.randn_like({})")


def bundle_large_tensor(t: torch.Tensor) -> InflatableArg:
    """A tensor that is kept whole, however large it is."""
    return InflatableArg(value=t, fmt="{}")


__all__ = [
    "InflatableArg",
    "augment_many_model_functions_with_bundled_inputs",
    "augment_model_with_bundled_inputs",
    "bundle_inputs",
    "bundle_large_tensor",
    "bundle_randn",
]
