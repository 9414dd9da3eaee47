"""torch._library.fake_profile: what a program's ops gave for which arguments, as stand-ins for functions of
register_fake. draft_export notes it (`ep._report.op_profiles`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import rushlight as torch
from rushlight.library import _op, get_ctx

__all__ = ["MissingOpProfile", "OpProfile", "TensorMetadata", "unsafe_generate_fake_kernels"]


META = torch.device("meta")


class MissingOpProfile(RuntimeError):
    """An op is given what it was not given when its profiles were made."""


@dataclass(frozen=True)
class TensorMetadata:
    """What is known of a tensor of any size: how many dims it has, its dtype, device and layout."""

    rank: int
    dtype: torch.dtype
    device: torch.device
    layout: torch.layout

    @staticmethod
    def maybe_from_tensor(t: Any) -> TensorMetadata | None:
        """That of a tensor; None for other values."""
        if not isinstance(t, torch.Tensor):
            return None
        return TensorMetadata(t.dim(), t.dtype, t.device, t.layout)


@dataclass(frozen=True)
class OpProfile:
    """The tensors that an op gives (one, or a tuple), for arguments of which these are tensors."""

    args_profile: tuple[TensorMetadata | None, ...]
    out_profile: TensorMetadata | tuple[TensorMetadata | None, ...] | None


def profile_of(args: Any, result: Any) -> OpProfile:
    """What an op was given, in the order of its signature, and what it gave."""
    of = TensorMetadata.maybe_from_tensor
    several = isinstance(result, (list, tuple))
    return OpProfile(tuple(map(of, args)), tuple(map(of, result)) if several else of(result))


@contextmanager
def unsafe_generate_fake_kernels(op_profiles: Mapping[str, set[OpProfile]]) -> Iterator[None]:
    """Inside, the ops of these names ("mylib.foo.default") have fake functions that their profiles tell: for
    arguments like those of a profile they give tensors like it, whose sizes nobody knows.

    MissingOpProfile for other arguments. Functions of register_fake are there again afterwards.
    """
    before: list[tuple[dict[str, Any], Any]] = []
    try:
        for name, profiles in op_profiles.items():
            space, own, *_ = name.split(".")
            op = _op(f"{space}::{own}")
            before.append((op._kernels, op._kernels.get("Meta")))
            op._kernels["Meta"] = _kernel(name, op, frozenset(profiles))
        yield
    finally:
        for kernels, was in reversed(before):
            kernels.pop("Meta", None)
            if was is not None:
                kernels["Meta"] = was


def _kernel(name: str, op: Any, profiles: frozenset[OpProfile]) -> Callable[..., Any]:
    """A fake function that the profiles of an op tell."""

    def fake(*args: Any, **kwargs: Any) -> Any:
        names = [p.name for p in op._opoverload._schema.arguments]
        bound = dict(zip(names, args, strict=False)) | kwargs
        given = profile_of(bound.values(), None).args_profile
        found = next((p for p in profiles if _like(p.args_profile, given)), None)
        if found is None:
            raise MissingOpProfile(
                f"no fake kernel exists for {name}, and no profiles match the given inputs: {given}, of "
                f"{[p.args_profile for p in profiles]}. Call draft_export with these inputs to make one."
            )
        out = found.out_profile
        return [_unknown(o) for o in out] if isinstance(out, tuple) else _unknown(out)

    return fake


def _like(known: tuple[TensorMetadata | None, ...], given: tuple[TensorMetadata | None, ...]) -> bool:
    """Whether arguments are like those of a profile; they may be on another device."""
    return tuple(map(_anywhere, known)) == tuple(map(_anywhere, given))


def _anywhere(of: TensorMetadata | None) -> TensorMetadata | None:
    return None if of is None else replace(of, device=META)


def _unknown(out: TensorMetadata | None) -> Any:
    """A tensor of sizes that nobody knows."""
    if out is None:
        raise MissingOpProfile("a result that is no tensor has no profile")
    ctx = get_ctx()
    return torch.empty([ctx.new_dynamic_size() for _ in range(out.rank)], dtype=out.dtype, device="meta")
