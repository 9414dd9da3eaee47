"""torch.ops.NAMESPACE.NAME.OVERLOAD of ops that programs define: what nodes of graphs call."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

from rushlight._engine.ops.signature import REQUIRED
from rushlight._ops import OpOverload
from rushlight.library.inferring import infer_schema
from rushlight.ops._schemas import Param, Schema, parsed


class CustomOverload(OpOverload):
    """One signature of an op that a program defined: `of` is the op."""

    def __init__(self, of: Any, overload: str) -> None:
        space, name = of._name.split("::")
        super().__init__(space, of._schema or _inferred(of, name, overload))
        self.of = of

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the op by this signature."""
        return self.of._call(args, kwargs)

    def redispatch(self, keys: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the op from the highest of a DispatchKeySet's keys on."""
        from rushlight.library.key_sets import redispatch  # of what few programs need

        return redispatch(self, keys, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "of":  # while it is being made
            raise AttributeError(name)
        return getattr(self.of, name)

    @property
    def overloadpacket(self) -> Any:
        """The op that it is an overload of."""
        return next(iter(self.of._overloads.values()))

    @property
    def tags(self) -> list[Any]:
        """What it was defined with."""
        return list(self.of._tags)

    def faked(self, args: Any, kwargs: Any) -> Any:
        """What the function of register_fake gives: of no tensors, nothing else asks for it. KeyError where
        there is none.
        """
        tree, given, leaves = self.of._bound(args, kwargs)
        args, kwargs = given(*tree.unflatten(leaves))
        return self.of._kernels["Meta"](*args, **kwargs)

    @property
    def is_composite(self) -> bool:
        """Whether it is nothing but other ops."""
        return bool(self.of._composite)

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """The op by those that it is made of; NotImplemented where it is one of its own."""
        return self(*args, **kwargs) if self.is_composite else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        return other is self or (isinstance(other, CustomOverload) and other.of is self.of)


def _inferred(of: Any, name: str, overload: str) -> Schema:
    """The signature that a function's annotations tell; of parameters without any, what is known of them."""
    kernel = next(iter(of._kernels.values()))
    try:
        whole = name if overload == "default" else f"{name}.{overload}"
        return parsed(whole + infer_schema(kernel, mutates_args=of._mutates), of._namespace)
    except (ValueError, KeyError):
        params = tuple(
            Param(
                p.name,
                "Tensor",
                REQUIRED if p.default is Parameter.empty else p.default,
                p.kind is Parameter.KEYWORD_ONLY,
            )
            for p in of._signature.parameters.values()
        )
        text = f"{name}({', '.join(p.name for p in params)}) -> Tensor"
        return Schema(name, overload, params, text, of._namespace)


class OfOverload:
    """An op of custom_op whose name says an overload, "mylib::square.out": a call is this overload's, where
    the op beside it (torch.ops.mylib.square) takes the overload that fits.
    """

    def __init__(self, op: Any, name: str) -> None:
        self._op, self._overload_name = op, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the overload."""
        return self._op._call(args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_op"], name)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._overload_name})>"
