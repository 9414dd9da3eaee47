"""The same program on PyTorch and on Rushlight, and how what they give differs.

A program is a function of a package (`torch` or `rushlight`) and of samples, which travel as a file that each
side reads for itself; so tensors keep their strides, what they share, and whether they are leaves.
"""

from __future__ import annotations

import dataclasses
import io
import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import torch

import rushlight

UNHEARD = {"DeprecationWarning", "FutureWarning", "ResourceWarning"}
BITS = {"bfloat16": torch.int16, "float8_e4m3fn": torch.uint8, "float8_e5m2": torch.uint8}


@dataclasses.dataclass
class Raised:
    """An exception that a program ended with."""

    error: BaseException

    def __str__(self) -> str:
        return type(self.error).__name__.lstrip("_")


def saved(value: Any) -> bytes:
    """A file of a value of PyTorch."""
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def opened(package: ModuleType, file: bytes) -> Any:
    """The value in a file, of one side."""
    return package.load(io.BytesIO(file), weights_only=False)


def run(package: ModuleType, program: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    """What a program gives, and the kinds of warnings that it gave. Exceptions are results too."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        package.manual_seed(0)
        try:
            found = program(package, *args)
        except Exception as error:
            found = Raised(error)
    return found, sorted({w.category.__name__ for w in said} - UNHEARD)


def both(program: Callable[..., Any], *args: Any) -> Iterator[tuple[str, str]]:
    """(where, how) the two sides' results of a program differ."""
    (theirs, told), (mine, tell) = (run(package, program, *args) for package in (torch, rushlight))
    yield from differ(theirs, mine)
    if told != tell and not isinstance(theirs, Raised):
        yield "warnings", f"{tell}, not {told}"


def differ(theirs: Any, mine: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """(where, how) two nested results differ."""
    if isinstance(theirs, Raised) or isinstance(mine, Raised):
        raised = [r for r in (theirs, mine) if isinstance(r, Raised)]
        wanted, got = (str(r) if r in raised else "nothing" for r in (theirs, mine))
        if wanted != got:
            said = " ".join(" ".join(str(r.error) for r in raised).split())
            yield where, f"raises {got}, not {wanted}: {said[:150]}"
    elif isinstance(theirs, torch.Tensor) and isinstance(mine, rushlight.Tensor):
        if text := differing(theirs, mine):
            yield where, text
    elif isinstance(theirs, dict) and isinstance(mine, dict):
        if set(theirs) != set(mine):
            yield where, f"keys {sorted(map(str, mine))}, not {sorted(map(str, theirs))}"
        for name in set(theirs) & set(mine):
            yield from differ(theirs[name], mine[name], f"{where}.{name}")
    elif isinstance(theirs, (list, tuple)) and isinstance(mine, (list, tuple)):
        if len(theirs) != len(mine):
            yield where, f"{len(mine)} items, not {len(theirs)}"
        for n, (a, b) in enumerate(zip(theirs, mine, strict=False)):
            yield from differ(a, b, f"{where}[{n}]")
    elif text := unlike(theirs, mine):
        yield where, text


def unlike(theirs: Any, mine: Any) -> str:
    """How two values that are neither tensors nor containers differ; an empty text where they do not."""
    if (
        isinstance(theirs, float)
        and isinstance(mine, float)
        and (math.isclose(theirs, mine, rel_tol=1e-7) or (theirs != theirs and mine != mine))
    ):
        return ""
    wanted, got = str(theirs), str(mine).replace("rushlight", "torch")
    return "" if wanted == got else " ".join(f"{got[:90]}, not {wanted[:90]}".split())


def differing(theirs: torch.Tensor, mine: Any) -> str:
    """How two tensors differ; an empty text where they do not."""
    if isinstance(theirs, (torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer)):
        return "" if type(theirs).__name__ == type(mine).__name__ else type(mine).__name__
    for what in ("dtype", "shape", "layout", "device", "requires_grad", "is_leaf"):
        a, b = (str(getattr(t, what)).replace("rushlight", "torch") for t in (theirs, mine))
        if a != b:
            return f"{what} {b}, not {a}"
    if isinstance(theirs, torch.nn.Parameter) is not isinstance(mine, rushlight.nn.Parameter):
        return "a parameter or not"
    if theirs.layout is not torch.strided:
        theirs, mine = theirs.detach().coalesce(), mine.detach().coalesce()
        return differing(theirs.indices(), mine.indices()) or differing(theirs.values(), mine.values())
    steps = zip(theirs.stride(), mine.stride(), theirs.shape, strict=True)
    if theirs.numel() and any(a != b for a, b, n in steps if n > 1):
        return f"strides {tuple(mine.stride())}, not {tuple(theirs.stride())} of {tuple(theirs.shape)}"
    return "" if theirs.device.type == "meta" else values(theirs.detach(), mine.detach())


def values(theirs: torch.Tensor, mine: Any) -> str:
    """Whether two tensors' numbers differ beyond what PyTorch's own tests allow, or some roundings of the
    greatest: in two bytes, where results are rounded on the way, eight, else two.
    """
    name = str(theirs.dtype)[6:]
    mine = mine.resolve_conj().resolve_neg().contiguous()
    bits = mine.view(getattr(rushlight, str(BITS[name])[6:])) if name in BITS else mine
    same = torch.from_numpy(bits.numpy().copy()).view(theirs.dtype).reshape(theirs.shape)
    if not (theirs.is_floating_point() or theirs.is_complex()):
        return "" if torch.equal(theirs, same) else "values"
    rtol, atol = torch.testing._comparison.default_tolerances(theirs)
    most = torch.nan_to_num(theirs, 0.0, 0.0, 0.0).abs().float().max().item() if theirs.numel() else 0.0
    few = torch.finfo(theirs.dtype).eps * (8 if theirs.element_size() == 2 else 2)
    close = torch.isclose(same, theirs, rtol, max(atol, few * most), equal_nan=True)
    return "" if close.all() else "values"


class Report:
    """What ran, what differed, and how."""

    def __init__(self) -> None:
        self.ran, self.wrong = Counter[str](), Counter[str]()
        self.found = defaultdict[tuple[str, str, str], list[str]](list)

    def add(self, way: str, name: str, sample: str, differences: Iterable[tuple[str, str]]) -> None:
        """One sample, used in one way."""
        differences = list(differences)
        self.ran[way] += 1
        self.wrong[way] += bool(differences)
        for where, how in differences:
            self.found[way, name, how].append(f"{sample} {where}")

    def printed(self) -> int:
        """Prints it; 1 if something differed."""
        for (way, name, how), where in sorted(self.found.items()):
            print(f"{way}\t{name}\t{how}\t{len(where)}: {where[0]}")
        for way in self.ran:
            print(f"{way}: {self.ran[way]} samples, {self.wrong[way]} differ")
        print(f"all: {self.ran.total()} samples, {self.wrong.total()} differ")
        return 1 if self.found else 0
