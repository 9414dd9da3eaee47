"""What an installed PyTorch has beyond Rushlight, and what changed there since another one.

    python tools/upstream.py PYTHON                     names and parameters that Rushlight lacks
    python tools/upstream.py PYTHON --since PYTHON      also what is new or differs since that PyTorch
    python tools/upstream.py PYTHON --since PYTHON --write      docs/upstream.md anew

PyTorch is read, not imported: its sources and stubs, so neither its libraries nor a GPU need be there.
tools/upstream.tsv says why a name is left out (a name, "*" for any letters, and a reason).
"""

from __future__ import annotations

import argparse
import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rushlight._engine.names.alternatives import homes  # noqa: E402
from rushlight._engine.names.placeholders import is_absent  # noqa: E402

PAGE = ROOT / "docs" / "upstream.md"
REASONS = Path(__file__).with_suffix(".tsv")
# Modules of the public storey: PyTorch's file, and the name that its names have.
MODULES = {
    "_C/_VariableFunctions.pyi": "torch",
    "functional.py": "torch",
    "__init__.py": "torch",
    "nn/functional.py": "torch.nn.functional",
    "nn/init.py": "torch.nn.init",
    "nn/parameter.py": "torch.nn",
    "linalg/__init__.py": "torch.linalg",
    "special/__init__.py": "torch.special",
    "fft/__init__.py": "torch.fft",
    "optim/lr_scheduler.py": "torch.optim.lr_scheduler",
    "optim/swa_utils.py": "torch.optim.swa_utils",
    "func/__init__.py": "torch.func",
    "library.py": "torch.library",
    "random.py": "torch.random",
    "serialization.py": "torch.serialization",
    "overrides.py": "torch.overrides",
    "utils/checkpoint.py": "torch.utils.checkpoint",
    "autograd/functional.py": "torch.autograd.functional",
    "autograd/graph.py": "torch.autograd.graph",
    "autograd/forward_ad.py": "torch.autograd.forward_ad",
    "autograd/grad_mode.py": "torch.autograd",
    "amp/autocast_mode.py": "torch.amp",
    "amp/grad_scaler.py": "torch.amp",
    "sparse/__init__.py": "torch.sparse",
    "hub.py": "torch.hub",
    "accelerator/__init__.py": "torch.accelerator",
    "profiler/profiler.py": "torch.profiler",
    "distributed/distributed_c10d.py": "torch.distributed",
    "export/__init__.py": "torch.export",
    "compiler/__init__.py": "torch.compiler",
    "fx/__init__.py": "torch.fx",
    "backends/mkldnn/__init__.py": "torch.backends.mkldnn",
    "signal/windows/windows.py": "torch.signal.windows",
    "nn/attention/__init__.py": "torch.nn.attention",
    "nn/attention/flex_attention.py": "torch.nn.attention.flex_attention",
}
# Folders, each of whose files gives names to a package.
FOLDERS = {
    "nn/modules": "torch.nn",
    "nn/utils": "torch.nn.utils",
    "optim": "torch.optim",
    "utils/data": "torch.utils.data",
    "distributions": "torch.distributions",
}
CLASSES = {"_C/__init__.pyi": {"TensorBase": "torch.Tensor"}, "_tensor.py": {"Tensor": "torch.Tensor"}}
# Parameters, by what PyTorch's sources call them: names, with defaults where there are any.
Forms = set[tuple[str, ...]]


def package(python: str) -> Path:
    """The torch package that an interpreter would import."""
    code = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise SystemExit(f"{python} finds no torch")
    return Path(done.stdout.strip())


def version(torch: Path) -> str:
    """Which PyTorch a package is."""
    for node in ast.parse((torch / "version.py").read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Constant):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id == "__version__":
                return str(node.value.value).partition("+")[0]
    raise SystemExit(f"{torch} does not tell its version")


def surface(torch: Path) -> dict[str, Forms]:
    """The public names, each with the forms of its parameters (none where that is no function of Python)."""
    found: dict[str, Forms] = {}
    for name, forms in (*_of_modules(torch), *_of_folders(torch), *_of_classes(torch)):
        found.setdefault(name, set()).update(forms)
    return found


def _of_modules(torch: Path) -> Iterator[tuple[str, Forms]]:
    for file, name in MODULES.items():
        for leaf, forms in _public(_parsed(torch / file)):
            if not leaf.startswith("_"):
                yield f"{name}.{leaf}", forms


def _of_folders(torch: Path) -> Iterator[tuple[str, Forms]]:
    for folder, name in FOLDERS.items():
        known = _handed_on(torch / folder / "__init__.py")
        for file in sorted((torch / folder).glob("*.py")):
            for leaf, forms in _public(_parsed(file)):
                if leaf in known:
                    yield f"{name}.{leaf}", forms
                elif not leaf.startswith("_") and file.stem != "__init__":
                    yield f"torch.{folder.replace('/', '.')}.{file.stem}.{leaf}", forms


def _of_classes(torch: Path) -> Iterator[tuple[str, Forms]]:
    for path, classes in CLASSES.items():
        for node in _parsed(torch / path).body:
            if isinstance(node, ast.ClassDef) and node.name in classes:
                for leaf, forms in _members(node):
                    yield f"{classes[node.name]}.{leaf}", forms


def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8") if file.exists() else "")


def _handed_on(init: Path) -> set[str]:
    """The names that a package imports."""
    tree = ast.parse(init.read_text(encoding="utf-8"))
    return {a.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for a in node.names}


def _public(tree: ast.Module) -> Iterator[tuple[str, Forms]]:
    listed = _listed(tree)
    told = set()
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        if node.name in listed if listed is not None else not node.name.startswith("_"):
            told.add(node.name)
            yield node.name, _forms(node)
    for name in sorted((listed or set()) - told):
        yield name, set()


def _listed(tree: ast.Module) -> set[str] | None:
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, (ast.List, ast.Tuple)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id == "__all__":
                return {str(e.value) for e in node.value.elts if isinstance(e, ast.Constant)}
    return None


def _members(cls: ast.ClassDef) -> Iterator[tuple[str, Forms]]:
    for node in cls.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, _forms(node)
        elif isinstance(node, ast.AnnAssign):
            target = node.target
            if isinstance(target, ast.Name) and not target.id.startswith("_"):
                yield target.id, set()


def _forms(node: ast.FunctionDef | ast.ClassDef) -> Forms:
    if isinstance(node, ast.ClassDef):
        inits = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        return {form for init in inits for form in _forms(init)}
    a = node.args
    plain = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(plain) - len(a.defaults)) + list(a.defaults)
    parts = [
        _parameter(p.arg, d) for p, d in zip(plain, defaults, strict=True) if p.arg not in ("self", "cls")
    ]
    parts += [f"*{a.vararg.arg}"] if a.vararg else []
    parts += [_parameter(p.arg, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    return {(*parts, *([f"**{a.kwarg.arg}"] if a.kwarg else []))}


def _parameter(name: str, default: ast.expr | None) -> str:
    return name if default is None else f"{name}={ast.unparse(default)}"


# --- ours ---------------------------------------------------------------------------------------------

# PyTorch's modules that have another name here.
_HOMES = {f"rushlight.{other}": f"rushlight.{home}".rstrip(".") for other, home in homes().items()}


def ours(name: str) -> Any:
    """Rushlight's object of a name, or None: what can be imported and refuses to be called is not there."""
    module, _, leaf = name.replace("torch", "rushlight", 1).rpartition(".")
    if module == "rushlight.Tensor":
        return getattr(import_module("rushlight").Tensor, leaf, None)
    try:
        found = getattr(import_module(_HOMES.get(module, module)), leaf, None)
    except (ImportError, RuntimeError, TypeError):
        return None
    return None if is_absent(found) else found


def lacking(name: str, forms: Forms) -> list[str]:
    """The parameters of PyTorch's that ours does not take by name."""
    found = ours(name)
    try:
        mine = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return []
    if any(p.kind is p.VAR_KEYWORD or p.kind is p.VAR_POSITIONAL for p in mine.values()):
        return []
    theirs = {part.partition("=")[0] for form in forms for part in form if not part.startswith("*")}
    alike = {"self", "input", "out", "names", "inplace"}
    return sorted(theirs - set(mine) - alike) if len(forms) == 1 else []


def reasons() -> dict[str, str]:
    """Why names are left out."""
    lines = REASONS.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines if line)


def reason(name: str, known: dict[str, str]) -> str | None:
    """The reason of a name: of the longest entry that it fits."""
    fits = [key for key in known if fnmatchcase(name, key) and name.count(".") >= key.count(".")]
    return known[max(fits, key=len)] if fits else None


# --- the report ---------------------------------------------------------------------------------------


def report(new: Path, old: Path | None) -> tuple[str, list[str]]:
    """The page, and the names that are neither there nor given a reason."""
    now, known = surface(new), reasons()
    before = surface(old) if old else {}
    missing = [name for name in sorted(now) if ours(name) is None]
    untold = [name for name in missing if reason(name, known) is None]
    there = len(now) - len(missing)
    said = [
        f"PyTorch {version(new)}: {len(now)} public names were read, {there} are there, "
        f"{len(missing)} are left out."
    ]
    if old is not None:
        fresh = sorted(set(now) - set(before))
        said += [
            "",
            f"## New since {version(old)}",
            "",
            *(f"- `{name}{_shown(now[name])}`: {_state(name, known)}" for name in fresh),
            "",
            f"## Gone since {version(old)}",
            "",
            *(f"- `{name}`" for name in sorted(set(before) - set(now))),
            "",
            f"## Other parameters than in {version(old)}",
            "",
        ]
        for name in sorted(set(now) & set(before)):
            if now[name] != before[name]:
                added = ", ".join(sorted(_parameters(now[name]) - _parameters(before[name]))) or "none"
                gone = ", ".join(sorted(_parameters(before[name]) - _parameters(now[name]))) or "none"
                said.append(f"- `{name}`: new: {added}; gone: {gone}. {_followed(name, now[name])}")
    said += [
        "",
        "## Left out",
        "",
        "| name | why |",
        "|---|---|",
        *(f"| `{name}` | {reason(name, known) or '?'} |" for name in missing),
    ]
    said += [
        "",
        "## Parameters that are not taken",
        "",
        *(
            f"- `{name}`: {', '.join(lacking(name, now[name]))}"
            for name in sorted(now)
            if lacking(name, now[name])
        ),
    ]
    return "\n".join(said) + "\n", untold


def _shown(forms: Forms) -> str:
    return f"({', '.join(next(iter(forms)))})" if len(forms) == 1 else ""


def _parameters(forms: Forms) -> set[str]:
    return {f"`{part}`" for form in forms for part in form}


def _state(name: str, known: dict[str, str]) -> str:
    return "there" if ours(name) is not None else f"left out: {reason(name, known) or '?'}"


def _followed(name: str, forms: Forms) -> str:
    if ours(name) is None:
        return "Left out."
    more = lacking(name, forms)
    return f"Not taken: {', '.join(more)}." if more else "Taken."


MARK = "<!-- From here on: `python tools/upstream.py NEW --since OLD --write` -->\n"


def main() -> int:
    """Print the report, or write the page; status 1 where a name is left out without a reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("python", help="an interpreter that has PyTorch")
    parser.add_argument("--since", help="an interpreter that has an older PyTorch")
    parser.add_argument("--write", action="store_true", help="write docs/upstream.md")
    options = parser.parse_args()
    text, untold = report(package(options.python), package(options.since) if options.since else None)
    if options.write:
        head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
        PAGE.write_text(head + MARK + text, encoding="utf-8")
    else:
        print(text, end="")
    for name in untold:
        print(f"no reason in {REASONS.name}: {name}", file=sys.stderr)
    return int(bool(untold))


if __name__ == "__main__":
    raise SystemExit(main())
