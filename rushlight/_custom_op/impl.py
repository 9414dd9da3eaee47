"""torch._custom_op.impl: ops of a function's signature, whose functions are registered apart."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from inspect import Parameter
from typing import Any, NamedTuple

import rushlight as torch
from rushlight import library
from rushlight._custom_op.autograd import kernel, validated_outputs
from rushlight._engine.core.callers import warn
from rushlight.library import get_ctx as get_ctx, infer_schema as infer_schema
from rushlight.ops._schemas import Schema, parsed

__all__ = ["CustomOp", "custom_op", "get_ctx"]

SUPPORTED_DEVICE_TYPE_TO_KEY = {"cpu": "CPU", "cuda": "CUDA"}
RESERVED_NS = {"prim", "prims", "aten", "at", "torch", "pytorch"}  # where PyTorch's own ops are
global_registry: dict[str, CustomOp] = {}  # all of them, by "namespace::name"


class FuncAndLocation(NamedTuple):
    """A registered function, and the line that registered it."""

    func: Callable[..., Any]
    location: str


class CustomOp:
    """An op: made by custom_op or torch._custom_ops.custom_op, which keep it in global_registry."""

    def __init__(
        self,
        lib: Any,
        cpp_ns: Any,
        schema: Any,
        operator_name: Any,
        ophandle: Any,
        *,
        _private_access: bool = False,
    ) -> None:
        _warn_deprecated()
        if not _private_access:
            raise RuntimeError(
                "The CustomOp constructor is private and we do not guarantee BC for it. Please use "
                "custom_op(...) to create a CustomOp object"
            )
        self._lib, self._cpp_ns, self._schema = lib, cpp_ns, schema
        self._opname, self._ophandle = operator_name, ophandle
        self._qualname = f"{cpp_ns}::{operator_name}"
        self._impls: dict[str, FuncAndLocation] = {}
        self._output_differentiability: list[bool] | None = None
        global_registry[self._qualname] = self

    def __repr__(self) -> str:
        return f'<CustomOp(op="{self._qualname}")>'

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the op."""
        return self._ophandle(*args, **kwargs)

    def _destroy(self) -> None:
        """Take the op back."""
        self._lib._destroy()
        global_registry.pop(self._qualname, None)

    # --- functions ----------------------------------------------------------------------------------

    def _has_impl(self, kind: str) -> bool:
        return kind in self._impls

    def _get_impl(self, kind: str) -> FuncAndLocation:
        return self._impls[kind]

    def _register_impl(self, kind: str, func: Callable[..., Any], stacklevel: int = 2) -> None:
        if self._has_impl(kind):
            raise RuntimeError(
                f"Attempting to register a {kind} impl for operator {self._qualname} that already "
                f"has a {kind} "
                f"impl registered from Python at {self._get_impl(kind).location}. This is not supported."
            )
        frame = sys._getframe(stacklevel)
        self._impls[kind] = FuncAndLocation(func, f"{frame.f_code.co_filename}:{frame.f_lineno}")

    def impl(self, device_types: str | Iterable[str], _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator of the function for tensors of these devices."""
        names = [device_types] if isinstance(device_types, str) else list(device_types)
        for name in names:
            if name not in SUPPORTED_DEVICE_TYPE_TO_KEY:
                raise ValueError(
                    f"CustomOp.impl(device_types=[{name}, ...]): we only support device_type in "
                    f"{SUPPORTED_DEVICE_TYPE_TO_KEY.keys()}."
                )

        def inner(f: Callable[..., Any]) -> Callable[..., Any]:
            for name in dict.fromkeys(names):
                self._check_free(name)
                self._register_impl(name, f, _stacklevel)
                self._lib.impl(self._opname, f, SUPPORTED_DEVICE_TYPE_TO_KEY[name])
            return f

        return inner

    def _check_free(self, device_type: str) -> None:
        known = self._ophandle._kernels
        taken = SUPPORTED_DEVICE_TYPE_TO_KEY[device_type] in known or "CompositeImplicitAutograd" in known
        if taken and not self._has_impl(device_type):
            raise RuntimeError(
                f"impl(..., device_types={device_type}): the operator {self._qualname} already has an "
                "implementation for this device type via a pre-existing torch.library or TORCH_LIBRARY "
                "registration."
            )

    def impl_abstract(self, _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator of the function for tensors without values."""

        def inner(f: Callable[..., Any]) -> Callable[..., Any]:
            self._register_impl("abstract", f, _stacklevel)
            self._lib.impl(self._opname, f, "Meta")
            return f

        return inner

    # --- gradients ----------------------------------------------------------------------------------

    def _check_can_register_backward(self) -> None:
        schema, why = self._schema, None
        if schema.is_mutable:
            why = "non-functional operator"
        elif not schema.returns:
            why = "operator with no returns"
        elif any(p.alias_info is not None for p in schema.returns):
            why = "operator that returns views"
        else:
            allowed = ("int", "bool", "float", "Tensor", "Tensor[]")
            other = next((p.type for p in schema.returns if p.type not in allowed), None)
            why = other and f"operator with return not in {list(allowed)} (got {other})"
        if why:
            raise RuntimeError(
                f"Cannot use torch._custom_ops APIs to register backward formula for {why}. Got operator "
                f"{self._qualname} with schema: {schema}"
            )
        known = self._ophandle._kernels
        if "CompositeImplicitAutograd" in known:
            raise RuntimeError(
                f"impl_backward/impl_save_for_backward: the operator {self._qualname} already has an "
                "implementation for this device type via a pre-existing registration to "
                "DispatchKey::CompositeImplicitAutograd."
            )
        key = next((key for key in ("Autograd", "AutogradCPU", "AutogradCUDA") if key in known), None)
        if key and not getattr(known[key], "of_custom_op", False):
            raise RuntimeError(
                f"impl_backward/impl_save_for_backward: the operator {self._qualname} already has "
                "an Autograd "
                f"kernel registered to DispatchKey::{key} vi a pre-existing torch.library or TORCH_LIBRARY "
                "registration. Please either remove those registrations or don't use the "
                "torch._custom_ops APIs"
            )

    def impl_save_for_backward(self, _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator of f(inputs, output), which says what the function of impl_backward gets."""

        def inner(f: Callable[..., Any]) -> None:
            self._check_can_register_backward()
            self._register_impl("save_for_backward", f, _stacklevel)
            self._lib.impl(self._opname, kernel(self), "Autograd")

        return inner

    def impl_backward(
        self, output_differentiability: list[bool] | None = None, _stacklevel: int = 2
    ) -> Callable[..., Any]:
        """A decorator of f(ctx, saved, *grads), which gives a dict of gradients."""
        validated_outputs(output_differentiability, len(self._schema.returns))

        def inner(f: Callable[..., Any]) -> None:
            self._check_can_register_backward()
            self._register_impl("backward", f, _stacklevel)
            self._output_differentiability = output_differentiability
            self._lib.impl(self._opname, kernel(self), "Autograd")

        return inner


# --- making them --------------------------------------------------------------------------------------


def _warn_deprecated() -> None:
    warn(
        "torch._custom_op is deprecated and will be removed in PyTorch 2.6, please use the equivalent "
        "torch.library API instead.",
        DeprecationWarning,
    )


def parse_qualname(qualname: str) -> tuple[str, str]:
    """(namespace, name); ValueError for names without a namespace, or of overloads."""
    space, separator, name = qualname.partition("::")
    if not separator:
        raise ValueError(
            f"Expected there to be a namespace in {qualname}, i.e. The operator name should look something "
            "like ns::foo"
        )
    if "." in name:
        raise ValueError(
            "The torch.custom_ops APIs do not handle overloads, i.e. operator names with '.' in them. Please "
            f"name your operator something like ns::foo. Got: {qualname}"
        )
    return space, name


def validate_namespace(ns: str) -> None:
    """ValueError for what is no name of a variable, and for PyTorch's own."""
    if "." in ns:
        raise ValueError(
            f'custom_op(..., ns="{ns}"): expected ns to not contain any . (and be a valid variable name)'
        )
    if ns in RESERVED_NS:
        raise ValueError(
            f"custom_op(..., ns='{ns}'): '{ns}' is a reserved namespace, please choose something else. "
        )


def _functional(text: str, space: str) -> Schema:
    """The signature of an op that neither writes nor gives views; ValueError for others."""
    try:
        schema = parsed(text, space)
    except ValueError:
        raise AssertionError(f"Invalid function schema: {text}") from None
    if any(p.name == "self" for p in schema.arguments):
        raise ValueError(
            f"custom_op does not support arguments named 'self'. Please rename your argument. Got: {schema}"
        )
    if schema.is_mutable or not schema.returns or any(p.alias_info is not None for p in schema.returns):
        raise ValueError(
            "custom_op only supports functional operators (ops that do not mutate any inputs, do not return "
            "views of the inputs, and has at least one return). Got the following non-functional schema: "
            f"{schema}"
        )
    return schema


def validate_function_matches_schema(schema: Schema, func: Callable[..., Any]) -> None:
    """ValueError where a function has not the arguments of a signature that is given beside it."""
    sig = inspect.signature(func)
    head, parameters = "custom_op(..., manual_schema)(func): ", list(sig.parameters.values())
    if not all(p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY) for p in parameters):
        raise ValueError(
            f"{head}positional-only args, varargs, and kwargs are not supported. Please rewrite "
            "`func` to not "
            f"have them. Got `func` with signature: {sig}"
        )
    annotated = [p.annotation for p in parameters] + [sig.return_annotation]
    if any(what is not Parameter.empty for what in annotated):
        raise ValueError(
            f"{head}When passing in a manual schema, we expect `func` to have no type annotations to avoid "
            f"ambiguity. Got `func` with signature: {sig}"
        )
    ours = [(p.name, p.kind is Parameter.KEYWORD_ONLY) for p in parameters]
    if ours != [(p.name, p.kwarg_only) for p in schema.arguments]:
        raise ValueError(
            f"{head}When passing in a manual schema, we expect `func`'s signature to match `manual_schema` "
            f"(aside from type annotations). func's signature: {sig}, manual_schema: {schema}"
        )
    if any(p.default is not Parameter.empty for p in parameters) or any(
        p.has_default_value() for p in schema.arguments
    ):
        raise ValueError(
            f"{head}neither func nor manual_schema should have default arguments. Got func's "
            f"signature: {sig}, "
            f"manual_schema: {schema}"
        )


def _custom_op_with_schema(qualname: str, schema: str, needs_fixed_stride_order: bool = True) -> Any:
    """Define an op of a signature, "(Tensor x) -> Tensor"; what torch.ops has of it."""
    space, name = qualname.split("::")
    _defined(space, name, _functional(name + schema, space))
    return get_op(qualname)


def _defined(space: str, name: str, schema: Schema) -> CustomOp:
    lib = library.Library(space, "FRAGMENT")
    lib.define(schema.text)
    made = CustomOp(lib, space, schema, name, library._op(f"{space}::{name}"), _private_access=True)
    lib.impl(name, kernel(made), "Autograd")
    return made


def checked_function(func: Any, qualname: str) -> tuple[str, str]:
    """(namespace, name) of an op that a function of its name declares; ValueError for other functions."""
    if not inspect.isfunction(func):
        raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(func)}")
    space, name = parse_qualname(qualname)
    validate_namespace(space)
    if func.__name__ != name:
        raise ValueError(
            f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
            f"'{func.__name__}'. Please either change the name of `func` or the qualname that is passed to "
            "`custom_op`"
        )
    return space, name


def custom_op(qualname: str, manual_schema: str | None = None) -> Callable[..., Any]:
    """A decorator that makes an op of a function's signature; the function itself is not called."""
    _warn_deprecated()

    def inner(func: Callable[..., Any]) -> CustomOp:
        space, name = checked_function(func, qualname)
        text = infer_schema(func, mutates_args=()) if manual_schema is None else manual_schema
        schema = _functional(name + text, space)
        if manual_schema is not None:
            validate_function_matches_schema(schema, func)
        return _defined(space, name, schema)

    return inner


def get_op(qualname: str) -> Any:
    """torch.ops.NAMESPACE.NAME.default; ValueError where there is none."""
    space, name = parse_qualname(qualname)
    found: Any = getattr(getattr(torch.ops, space, None), name, None)
    if not hasattr(found, "default"):
        raise ValueError(
            f"Could not find the operator {qualname}. Please make sure you have already registered the "
            "operator and (if registered from C++) loaded it via torch.ops.load_library."
        )
    return found.default


def _find_custom_op(qualname: str, also_check_torch_library: bool = False) -> CustomOp:
    """The op of a name; one of torch.library is taken in, if that is asked for."""
    if qualname in global_registry:
        return global_registry[qualname]
    if not also_check_torch_library:
        raise RuntimeError(
            f'Could not find custom op "{qualname}". Did you register it via the torch._custom_ops API?'
        )
    found = get_op(qualname)
    space, name = parse_qualname(qualname)
    lib = library.Library(space, "FRAGMENT")
    return CustomOp(lib, space, found._schema, name, found.of, _private_access=True)


def get_abstract_impl(qualname: str) -> Callable[..., Any] | None:
    """The function of impl_abstract, if there is one."""
    known = global_registry.get(qualname)
    return known._get_impl("abstract").func if known is not None and known._has_impl("abstract") else None
