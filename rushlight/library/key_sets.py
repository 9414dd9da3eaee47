"""Sets of dispatch keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight._engine.dispatch.interpreters import BELOW, CLASSES
from rushlight.library import DispatchKey
from rushlight.library.below import AutoDispatchBelowAutograd


class DispatchKeySet:
    """Some dispatch keys: torch._C.DispatchKeySet."""

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def has(self, k: Any) -> bool:
        """Whether a key is among them."""
        return k in self._keys

    def add(self, k: Any) -> DispatchKeySet:
        """These and one more."""
        return DispatchKeySet(*self._keys, k)

    def remove(self, k: Any) -> DispatchKeySet:
        """These without one."""
        return DispatchKeySet(*(self._keys - {k}))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys - other._keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({_listed(self._keys)})"


def _listed(keys: Iterable[Any]) -> str:
    known = {name: place for place, name in enumerate(_ORDER)}
    names = sorted(key.name for key in keys)
    return ", ".join(sorted(names, key=lambda name: known.get(name, len(known))))


_BACKENDS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}


def backend(args: Any, kwargs: dict[str, Any]) -> str:
    """The key of what an op runs on: a device of its tensors beside the CPU first."""
    given = [leaf.device for leaf in flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
    if not given:
        given = [torch.device(kwargs.get("device") or torch.get_default_device())]
    kinds = [device.type for device in given]
    where = next((kind for kind in kinds if kind != "cpu"), "cpu")
    return _BACKENDS.get(where, "PrivateUse1")


def of_tensor(t: Any) -> DispatchKeySet:
    """The keys that a tensor gives a call: torch._C._dispatch_keys."""
    where = backend(t, {})
    prefix = {torch.strided: "", torch.sparse_coo: "Sparse"}.get(t.layout, "SparseCsr")
    names = [prefix + where] + [f"Autocast{where}"] * (where != "Meta")
    names += ["Conjugate"] * t.is_conj() + ["Negative"] * t.is_neg()
    names += [] if t.is_inference() else ["ADInplaceOrView", f"Autograd{where}"]
    if type(t) in BELOW:
        names += ["Python", "PythonTLSSnapshot"]
    return DispatchKeySet(*[DispatchKey[name] for name in names])


def shown(t: Any) -> str:
    """The same as text: torch._C._dispatch_key_set."""
    return repr(of_tensor(t))


# Keys from the lowest on, as PyTorch counts what they stand for.
_ORDER = (
    "CPU CUDA Meta PrivateUse1 SparseCPU SparseCUDA SparseMeta SparseCsrCPU SparseCsrCUDA SparseCsrMeta "
    "BackendSelect Python Conjugate Negative ZeroTensor ADInplaceOrView AutogradCPU AutogradCUDA "
    "AutogradMeta AutocastCPU AutocastCUDA PythonTLSSnapshot"
).split()


def with_keys(fn: Callable[..., Any], key: str) -> Callable[..., Any]:
    """fn(keys, *args, **kwargs), called without the keys, which are those of the call from `key` on."""

    def run(*args: Any, **kwargs: Any) -> Any:
        own = backend(args, kwargs)
        names = [own, f"Autograd{own}"] if key.startswith(("Autograd", "Composite")) else [own]
        return fn(DispatchKeySet(*[DispatchKey[name] for name in names]), *args, **kwargs)

    return run


def after_autograd() -> DispatchKeySet:
    """The keys of what is called below autograd: torch._C._after_autograd_keyset."""
    return DispatchKeySet(*[key for key in DispatchKey if "Autograd" not in key.name])


def redispatch(op: Any, keys: DispatchKeySet, args: Any, kwargs: Any) -> Any:
    """An op from the highest of some keys on: below autograd, where no key of its is among them."""
    if any("Autograd" in key.name for key in keys._keys):
        return op(*args, **kwargs)
    with AutoDispatchBelowAutograd():
        return op(*args, **kwargs)


def excluded() -> DispatchKeySet:
    """The keys that calls of this thread pass over: Python's, where classes do not hear of ops."""
    return DispatchKeySet() if CLASSES.below else DispatchKeySet(DispatchKey.Python)
