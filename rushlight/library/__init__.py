"""torch.library: ops of a program's own, which are called as torch.ops.NAMESPACE.NAME.

custom_op makes one of a function. Library, define and impl are the older spelling: a signature in PyTorch's
notation, and functions for dispatch keys. Of the keys a call looks at, here, "Autograd" (or "AutogradCPU"),
then "CPU" or "Meta", then those of composite functions; what is registered for others is never called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from functools import partial, singledispatch
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import Any
from weakref import finalize, proxy

import rushlight as torch
from rushlight._engine.core.pytree import broadcast, flatten, tree_map
from rushlight._engine.core.recording import TAPE, opaque
from rushlight._engine.dispatch.interpreters import BELOW, MODES, STACK, put_back
from rushlight._engine.names.alternatives import attribute
from rushlight._engine.ops.signature import REQUIRED
from rushlight.autograd import Function
from rushlight.export.overloads import fits
from rushlight.library.below import LEVEL, get_ctx as get_ctx
from rushlight.library.fallback import falls_back, followed
from rushlight.library.inferring import infer_schema as infer_schema
from rushlight.library.registration import checked, get_kernel as get_kernel, there_already
from rushlight.ops import NAMESPACES
from rushlight.ops._schemas import Schema, misfit, parsed

with open(os.path.join(os.path.dirname(__file__), "keys.tsv"), encoding="utf-8") as _file:
    _keys_line, _tags_line = [line.split("\t") for line in _file]
_make_enum: Any = Enum
DispatchKey: Any = _make_enum("DispatchKey", _keys_line[1])
Tag: Any = _make_enum("Tag", _tags_line[1], start=0)


class _Call(Function):
    """A call of an op as a node: its inputs are all tensors among the arguments, also in lists."""

    @staticmethod
    def forward(op: Any, tree: Any, given: Any, *leaves: Any) -> Any:
        """The op's result for the arguments that `tree` puts together of the leaves."""
        return op._compute(leaves, *given(*tree.unflatten(leaves)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """What register_autograd's setup_context keeps."""
        ctx.op, ctx.tree, _, *leaves = inputs
        if ctx.op._setup_context is not None:
            args, named = ctx.tree.unflatten(leaves)
            only = {"keyword_only_inputs": named} if named else {}
            ctx.op._setup_context(ctx=ctx, inputs=args, output=output, **only)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The registered formula's gradients, one for each leaf; RuntimeError without a formula."""
        if ctx.op._backward is None:
            raise RuntimeError(
                f"Trying to backward through {ctx.op._name}.default but no autograd formula "
                "was registered. Please use register_autograd to add one."
            )
        found, nothing = ctx.op._backward(ctx, *grads), ctx.tree.unflatten([None] * ctx.tree.num_leaves)
        spread = broadcast((found if isinstance(found, tuple) else (found,), nothing[1]), ctx.tree)
        return None, None, None, *(spread or ())

    @staticmethod
    def vmap(info: Any, in_dims: Any, op: Any, tree: Any, given: Any, *leaves: Any) -> Any:
        """The registered batching rule's result; RuntimeError without a rule."""
        if op._vmap is None:
            raise RuntimeError(f"Batching rule not implemented for {op._name}: register_vmap adds one")
        args, named = given(*tree.unflatten(leaves))
        return op._vmap(info, tree.unflatten(in_dims[3:])[0][: len(args)], *args, **named)


def _given(count: int, names: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The arguments that the caller gave: functions have defaults of their own."""
    return args[:count], {name: named[name] for name in names}


class CustomOpDef:
    """An op: functions for dispatch keys, an autograd formula, a rule of vmap.

    Of custom_op's, autograd and compile() look no further; without a formula of their own, the ops of define
    are what their functions are made of.
    """

    def __init__(self, name: str, overloads: dict[str, CustomOpDef]) -> None:
        self._name, self._overloads, self._opaque = name, overloads, False
        self._kernels: dict[str, Callable[..., Any]] = {}
        self._schema: Any = None
        self._signature: Any = None
        self._told: Any = None
        self._backward: Any = None
        self._setup_context: Any = None
        self._vmap: Any = None
        self._tags: tuple[Any, ...] = ()
        self._mutates: set[str] = set()  # names of arguments that it says it writes to
        # Whether it writes to arguments and returns nothing: without values there is nothing to do, so that
        # on the meta device it needs no function of register_fake.
        self._only_writes = False
        self._casts: dict[str, Any] = {}  # autocast's dtypes by device type
        self._rules: dict[type, Callable[..., Any]] = {}  # by class of modes, and of tensors that hear ops
        self._init_fn: Any = None  # the function that custom_op() was given

    def _compute(self, leaves: Any, args: Any, named: Any) -> Any:
        if not self._composite and (MODES or BELOW):
            heard = self._heard(leaves, args, named)
            if heard is not NotImplemented:
                return heard
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if not tensors and "BackendSelect" in self._kernels:
            return self._kernels["BackendSelect"](*args, **named)
        meta = any(t.is_meta for t in tensors)
        where = "Meta" if meta else "CPU"
        for key in (where, "CompositeExplicitAutograd", "CompositeImplicitAutograd"):
            if key in self._kernels:
                if not TAPE or key == "CompositeImplicitAutograd":
                    return self._kernels[key](*args, **named)
                with opaque():
                    return self._kernels[key](*args, **named)
        if meta and self._only_writes:
            return None
        raise NotImplementedError(
            f"Could not run '{self._name}' with arguments from the '{where}' backend: it has functions for "
            f"{sorted(self._kernels)}; torch.library.impl or register_fake adds one"
        )

    @property
    def _composite(self) -> bool:
        """Whether it is nothing but other ops, of which listeners below autograd hear instead."""
        return self._kernels.keys() == {"CompositeImplicitAutograd"}

    def _heard(self, leaves: Any, args: Any, named: Any) -> Any:
        """The answer of the innermost mode with __torch_dispatch__, or of a class of the tensors'."""
        modes = STACK.modes
        mode = modes[-1] if modes and hasattr(modes[-1], "__torch_dispatch__") else None
        classes = tuple(dict.fromkeys(type(leaf) for leaf in leaves if type(leaf) in BELOW))
        if mode is not None:
            rule = self._rules.get(type(mode), type(mode).__torch_dispatch__)
            modes.pop()
            try:
                return rule(mode, self._opoverload, classes, args, named)
            finally:
                put_back(modes, mode)
        found: Any = NotImplemented
        for cls in classes:
            if found is NotImplemented:
                rule = self._rules.get(cls)
                found = (
                    cls.__torch_dispatch__(self._opoverload, classes, args, named)
                    if rule is None
                    else rule(cls, self._opoverload, classes, args, named)
                )
        return found

    def _bound(self, args: Any, kwargs: Any) -> Any:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            if self._schema is None:
                raise TypeError(f"{self._name}(): {error}. Declaration: None") from None
            raise RuntimeError(misfit(self._schema, args, kwargs)) from None
        for p in self._schema.arguments if self._schema else ():
            value = bound.arguments.get(p.name)
            undefined = value is None and p.type == "Tensor"
            if p.name in bound.arguments and not undefined and not fits(p.type, value, True):
                raise RuntimeError(
                    f"{self._name}() Expected a value of type '{p.type}' for argument '{p.name}' but instead "
                    f"found type '{type(value).__name__}'. Declaration: {self._schema}"
                )
        if self._schema is None:
            bound.apply_defaults()
        count, names = len(bound.args), tuple(bound.kwargs)
        bound.apply_defaults()
        if names:  # what stands behind others that were left out goes by its place, as in PyTorch
            own = bound.kwargs
            places = [i + 1 for i, name in enumerate(bound.arguments) if name in names and name not in own]
            count, names = max([count, *places]), tuple(name for name in names if name in own)
        given = partial(_given, count, names)
        leaves, tree = flatten((bound.args, bound.kwargs))
        return tree, given, leaves

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the op, by the overload that the arguments fit."""
        *others, op = (op for op in self._overloads.values() if op._signature)
        for other in others:
            with suppress(RuntimeError, TypeError):
                other._bound(args, kwargs)
                op = other
                break
        return op._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call this overload."""
        for device, dtype in self._casts.items():
            if torch.is_autocast_enabled(device):
                args, kwargs = tree_map(partial(_cast, device, dtype), (args, kwargs))
                with torch.autocast(device, enabled=False):
                    return self._call(args, kwargs)
        run, how = self._run, self._bound(args, kwargs)
        for mode in STACK.modes:
            if hasattr(mode, "custom"):
                run, how = partial(mode.custom, self), (run, how, args, kwargs)
        return run(*how)

    def _run(self, tree: Any, given: Any, leaves: Any) -> Any:
        autograd = self._kernels.get("AutogradCPU", self._kernels.get("Autograd"))
        if LEVEL.depth:
            return self._compute(leaves, *given(*tree.unflatten(leaves)))
        if autograd is None and (self._opaque or self._backward or self._vmap):
            return _Call.apply(self, tree, given, *leaves)
        args, named = given(*tree.unflatten(leaves))
        if autograd is not None and autograd is not fallthrough_kernel:
            return autograd(*args, **named)
        if autograd is not None or TAPE or not falls_back(self._kernels):
            return self._compute(leaves, args, named)
        return followed(self._name, self._schema, leaves, partial(self._compute, leaves, args, named))

    def __copy__(self) -> CustomOpDef:
        return self  # there is one of each

    def __deepcopy__(self, memo: Any) -> CustomOpDef:
        return self

    def __getattr__(self, overload: str) -> CustomOpDef:
        if overload not in self._overloads:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'")
        found: CustomOpDef = self._overloads[overload]._opoverload
        return found

    @property
    def _opoverload(self) -> Any:
        """torch.ops.NAMESPACE.NAME.OVERLOAD: what graphs call."""
        if self._told is None:
            from rushlight.library.overload import CustomOverload  # few programs need its signature

            name = next(name for name, op in self._overloads.items() if op is self)
            self._told = CustomOverload(self, name)
        return self._told

    @property
    def _qualname(self) -> str:
        return self._name

    @property
    def _namespace(self) -> str:
        return self._name.split("::")[0]

    @property
    def _qualified_op_name(self) -> str:
        """NAMESPACE::NAME: what PyTorch's packets of overloads call so."""
        return str(self._name)

    def overloads(self) -> list[str]:
        """The overloads' names."""
        return list(self._overloads)

    def __str__(self) -> str:
        return self._name.replace("::", ".")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>" if self._schema else f"<CustomOpDef({self._name})>"

    def _declare(self, signature: Signature) -> None:
        self._signature = signature
        space, own = self._name.split("::")
        if space not in NAMESPACES:
            NAMESPACES[space] = _Namespace(space)
            # Where the namespace was imported before it had ops, only a stand-in was there.
            vars(torch.ops).pop(space, None)
        vars(NAMESPACES[space]).setdefault(own, self)

    def register_fake(self, fn: Any = None, /) -> Any:
        """fn(*args) runs instead where an argument is a tensor on the meta device; a decorator without fn."""
        return self.register_kernel("Meta", fn)

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """fn(*args) runs for tensors of these devices ("cpu", a list, None: all); a decorator without fn."""
        if fn is None:
            return partial(self.register_kernel, device_types)
        self._kernels.update(dict.fromkeys(_keys(device_types), fn))
        return fn

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """backward(ctx, *grads) gives a gradient or None for each argument; setup_context(ctx, inputs,
        output) saves for it what it needs (keyword_only_inputs beside them, where there are such).
        """
        self._backward, self._setup_context = backward, setup_context

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Under autocast for this device ("cpu" or "cuda"), tensors of floating dtypes but float64 are cast
        to `cast_inputs` before the op is called. ValueError for other devices.
        """
        if not torch.amp.is_autocast_available(device_type) or device_type not in ("cpu", "cuda"):
            raise ValueError(f"Unknown device type: {device_type}; expected 'cpu' or 'cuda'")
        self._casts[device_type] = cast_inputs

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Any = None, /) -> Any:
        """fn(mode or class, op, types, args, kwargs) answers instead of the __torch_dispatch__ of a mode's
        class, or of a subclass of Tensor; a decorator without fn.
        """
        if fn is None:
            return partial(self.register_torch_dispatch, torch_dispatch_class)
        self._rules[torch_dispatch_class] = fn
        return fn

    def register_vmap(self, fn: Any = None, /) -> Any:
        """fn(info, in_dims, *args) gives results and their batch dims; a decorator without fn. Without such a
        rule, vmap calls the op example by example.
        """
        self._vmap = fn or self._vmap
        return fn or self.register_vmap


def _cast(device: str, dtype: Any, value: Any) -> Any:
    """A tensor as autocast hands it to an op; everything else as it is."""
    if not isinstance(value, torch.Tensor) or value.device.type != device:
        return value
    return value.to(dtype) if value.is_floating_point() and value.dtype is not torch.float64 else value


class _Namespace:
    def __init__(self, name: str) -> None:
        self._name = name

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in vars(self) if name != "_name"])

    def __getattr__(self, own: str) -> Any:
        if own in ("__origin__", "__self__"):  # PyTorch's words for what its own tools ask for
            raise AttributeError(f"Invalid attribute '{own}' for '_OpNamespace' '{self._name}'")
        try:  # another op of PyTorch's namespace, which can be imported
            return attribute(f"rushlight.ops.{self._name}", own)
        except AttributeError:
            pass
        raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{own}'")


_OPS: dict[str, dict[str, CustomOpDef]] = {}  # overloads by NAMESPACE::NAME; functions may come first


def defined() -> list[CustomOpDef]:
    """All ops that programs have defined, each overload."""
    return [op for several in _OPS.values() for op in several.values() if op._signature]


def _entry(name: str) -> CustomOpDef:
    """The op of a qualified name, "mylib::square" or "mylib::square.out"; a new one has no signature yet."""
    space, separator, own = name.partition("::")
    own, _, overload = own.partition(".")
    if not separator or not own.isidentifier() or not space.isidentifier():
        raise ValueError(
            'Expected `qualname` to be of the form "namespace::name": expected a name such as '
            f"'mylib::square', got {name!r}"
        )
    several = _OPS.setdefault(f"{space}::{own}", {})
    return several.setdefault(overload or "default", CustomOpDef(f"{space}::{own}", several))


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """The op `name` ("namespace::name"), computed by fn; a decorator without fn.

    mutates_args: names of the arguments that fn writes to, or "unknown". Nothing but opcheck depends on it:
    what is written to counts versions by itself. device_types: of the tensors that fn takes. schema, tags:
    accepted.
    Errors: ValueError for a name without a namespace.
    """
    _entry(name)

    def make(fn: Callable[..., Any]) -> Any:
        base, _, overload = name.partition(".")
        _OPS[base].pop(overload or "default", None)
        op = _entry(name)
        op._init_fn, op._opaque = fn, True
        op._mutates = {mutates_args} if isinstance(mutates_args, str) else set(mutates_args)
        op.register_kernel(device_types, fn)
        op._declare(signature(fn))
        if schema is None:
            op._only_writes = bool(op._mutates) and op._signature.return_annotation in (None, "None")
        else:
            op._only_writes = "!" in schema and schema.rstrip().endswith("-> ()")
        return op if not overload else import_module("rushlight.library.overload").OfOverload(op, name)

    return make if fn is None else make(fn)


def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, schema: str | None = None
) -> Any:
    """custom_op, which it is here: what fn launches is not looked into. The parameters are custom_op's."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """A kernel of Triton's as it is: nothing here needs to see its launches.

    ModuleNotFoundError where Triton is not installed, RuntimeError for what is none of its kernels.
    """
    try:
        from triton.runtime.autotuner import Autotuner  # of what few programs need
        from triton.runtime.jit import JITFunction
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "No module named 'triton': torch.library.wrap_triton takes a kernel of Triton's, which runs on "
            "GPUs; write the op with torch's functions, or as a custom_op",
            name="triton",
        ) from None
    if not isinstance(triton_kernel, (JITFunction, Autotuner)):
        raise RuntimeError("wrap_triton only works on functions annotated with triton.jit or triton.autotune")
    return triton_kernel


def _op(op: Any) -> CustomOpDef:
    found = _entry(op) if isinstance(op, str) else getattr(op, "of", op)
    if not isinstance(found, CustomOpDef) or found._signature is None:
        raise RuntimeError(
            f"operator {op} does not exist: expected what torch.library.custom_op or define made, or its name"
        )
    return found


def _registrar(name: str) -> Callable[..., Any]:
    def register(
        op: Any,
        *given: Any,
        lib: Any = None,
        _stacklevel: int = 1,
        allow_override: bool = False,
        **options: Any,
    ) -> Any:
        said = [options.pop("func")] if "func" in options else []
        return getattr(_op(op), name)(*given, *said, **options)

    register.__name__ = register.__qualname__ = name
    register.__doc__ = f"CustomOpDef.{name} of an op or its name."
    return register


register_autograd, register_kernel, register_vmap, register_fake = map(
    _registrar, ("register_autograd", "register_kernel", "register_vmap", "register_fake")
)
register_autocast, register_torch_dispatch = map(_registrar, ("register_autocast", "register_torch_dispatch"))
impl_abstract = register_fake


# --- the older spelling ---------------------------------------------------------------------------


def fallthrough_kernel() -> None:
    """Registered for a key, it means that calls go on to the next key."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def _keys(device_types: Any) -> list[str]:
    """Dispatch keys of "cpu", "cuda" ..., "default" or None; of keys, they themselves."""
    known = {key.lower(): key for key in DispatchKey.__members__} | {"default": "CompositeExplicitAutograd"}
    names = device_types if isinstance(device_types, (list, tuple)) else [device_types or "default"]
    return [known.get(name.lower()) or known.get(torch.device(name).type, name) for name in names]


class Library:
    """Library(ns, kind, dispatch_key=""): ops of the namespace `ns`.

    kind: "DEF" (once for each namespace), "FRAGMENT" to add ops to it, "IMPL" to add functions. dispatch_key:
    the key that impl takes by default. Errors: ValueError for other kinds, RuntimeError for a second "DEF".
    """

    _defined: set[str] = set()
    _reserved: tuple[str, ...] = ("prim",)

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in self._reserved and kind != "IMPL":
            told = "a reserved namespace. Please try creating a library with another name."
            raise ValueError(f"{ns} is {told}")
        if kind == "DEF" and ns in self._defined:
            raise RuntimeError(f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}")
        self._defined.update([ns] if kind == "DEF" else [])
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        # What PyTorch's asks to define and implement; a program may delete it before the library itself.
        self.m: Any = proxy(self)
        # What it has defined, by name with the overload's, and functions: they go with it, as PyTorch's do.
        self._made: list[tuple[str, CustomOpDef]] = []
        self._given: list[Callable[[], None]] = []
        self._destroy = finalize(self, _take_back, ns, kind, self._made, self._given)
        self._destroy.atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def _without_namespace(self, schema: str) -> str:
        """A signature whose name may be said with this library's namespace, without it."""
        name, opened, rest = schema.partition("(")
        space, said, bare = name.rpartition("::")
        if said and space != self.ns:
            raise RuntimeError(
                f"Explicitly provided namespace ({space}) in schema string does not match namespace of "
                f"enclosing TORCH_LIBRARY block ({self.ns}): leave it out, or open a library of {space!r}"
            )
        return bare + opened + rest

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """The op of a signature, "name(Tensor x, float a=2.) -> Tensor"; its name, as written there.

        alias_analysis: accepted. tags: the overload's `tags`, a Tag or several.
        Errors: RuntimeError for what is no signature, or where there is one.
        """
        self._declared(schema, tags)
        return schema.partition("(")[0].partition(".")[0]

    def _declared(self, schema: str, tags: Any = ()) -> str:
        """The same; the op's name with its overload's."""
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{schema}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  All '
                "def()s should be placed in the (unique) TORCH_LIBRARY block for their namespace."
            )
        schema = self._without_namespace(schema)
        try:
            known: Schema = parsed(schema, self.ns)
        except ValueError:
            raise RuntimeError(
                "Tried to parse a function schema: expected one such as 'sum(Tensor x, Tensor "
                f"y) -> Tensor', got {schema!r}"
            ) from None
        name = schema.partition("(")[0]
        op = _entry(f"{self.ns}::{name}")
        if op._signature is not None:
            raise RuntimeError(
                f"Tried to register an operator ({self.ns}::{schema}) with the same name and "
                "overload name multiple times."
            )
        kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        self._made.append((name, op))
        op._schema = known
        op._tags = (tags,) if isinstance(tags, Tag) else tuple(tags)
        op._declare(
            Signature(
                [
                    Parameter(
                        p.name,
                        kinds[p.kwarg_only],
                        default=Parameter.empty if p.default is REQUIRED else p.whole_default,
                    )
                    for p in known.arguments
                ]
            )
        )
        return name

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """fn answers for an op (its name, or the op) where its dispatch key is looked at; see above.

        with_keyset: it is given the call's keys first. allow_override: RuntimeError with False, where a
        function was given before.
        """
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        own = checked(self, op_name, fn, key)
        if key not in DispatchKey.__members__:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        if self.ns == "aten":
            from rushlight.library import aten_kernels  # of what few programs need

            self._given.append(aten_kernels.register(own, key, fn, with_keyset, allow_override))
            return
        op = op_name if isinstance(op_name, CustomOpDef) else _entry(f"{self.ns}::{own}")
        if not allow_override and key in op._kernels:
            raise RuntimeError(there_already(own, key, self.ns))
        if fn is not fallthrough_kernel or key.startswith("Autograd"):
            keyed = with_keyset and fn is not fallthrough_kernel
            function = attribute("rushlight.library.key_sets", "with_keys")(fn, key) if keyed else fn
            op._kernels[key] = function
            self._given.append(partial(_forget, op._kernels, key, function))


def _forget(kernels: dict[str, Any], key: str, function: Any) -> None:
    if kernels.get(key) is function:
        del kernels[key]


def _take_back(
    ns: str, kind: str, made: list[tuple[str, CustomOpDef]], given: list[Callable[[], None]]
) -> None:
    """Forget the overloads that a library has defined, and the functions that it has given."""
    for take_back in given:
        take_back()
    for name, op in made:
        own, _, overload = name.partition(".")
        several = _OPS.get(f"{ns}::{own}", {})
        if several.get(overload or "default") is not op:
            continue  # it has been defined anew
        del several[overload or "default"]
        if not several:
            del _OPS[f"{ns}::{own}"]
            if ns in NAMESPACES:
                vars(NAMESPACES[ns]).pop(own, None)
    if kind == "DEF":
        Library._defined.discard(ns)


# Those of ops that were defined without naming one.
_KEPT: list[Library] = []


@contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A Library whose ops are there inside of the context alone."""
    made = Library(ns, kind, dispatch_key)
    try:
        yield made
    finally:
        made._destroy()


@singledispatch
def define(qualname: Any, schema: str, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """The op of a name and a signature: define("mylib::sin", "(Tensor x) -> Tensor").

    define(library, "sin(Tensor x) -> Tensor") is a decorator, too, of its function.
    """
    _entry(qualname)
    space, _, own = qualname.partition("::")
    if lib is None:
        lib = Library(space, "FRAGMENT")
        _KEPT.append(lib)
    lib.define(own + schema, tags=tags)


@define.register
def _define_in(lib: Library, schema: str, alias_analysis: str = "") -> Callable[..., Any]:
    return _impl_in(lib, lib._declared(schema))


@singledispatch
def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """func answers for an op with tensors of these devices: "cpu", "cuda" ..., "default", a list of them.

    impl(library, name, dispatch_key="") is the same for a dispatch key. Decorators without func.
    """
    return _entry(qualname).register_kernel(types, func)


@impl.register
def _impl_in(lib: Library, name: str, dispatch_key: str = "") -> Callable[..., Any]:
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        lib.impl(name, fn, dispatch_key)
        return fn

    return register


def opcheck(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, **options: Any) -> Any:
    """Check an op's registration on sample arguments: see checks.opcheck, which takes its options.

    Keywords: test_utils (names of checks), raise_exception (True), atol, rtol.
    """
    from rushlight.library import checks  # it is of what few programs need

    return checks.opcheck(op, args, kwargs, **options)
