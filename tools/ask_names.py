"""What the torch of this process has: run by tools/names_in_use.py under PyTorch, then under Rushlight.

    python ask_names.py USES.json ANSWERS.json [PYTORCHS_ANSWERS.json]

A name's answer is "attribute" where it is reached from `import torch` alone, "import" where its module must
be imported first, "" where it is absent; PyTorch's answer says how Rushlight has to have it. A keyword's
answer is whether calling takes it.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

ABSENT = object()


def torch_itself() -> None:
    """Import both packages; an extension of torchvision that does not fit the build is declared away."""
    import torch

    if "rushlight" not in sys.modules:
        _declare(torch)
    import torchvision  # noqa: F401


def _declare(torch: Any) -> None:
    spec = importlib.util.find_spec("torchvision")
    if spec is None or not spec.submodule_search_locations:
        return
    # Names are asked for, never called, so the schemas say nothing.
    library = torch.library.Library("torchvision", "DEF")
    registered = Path(spec.submodule_search_locations[0], "_meta_registrations.py")
    text = registered.read_text(encoding="utf-8") if registered.exists() else ""
    for name in sorted(set(re.findall(r"register_meta\(\"(\w+)\"\)|torchvision::(\w+)", text)), key=str):
        library.define(f"{''.join(name)}(Tensor input) -> Tensor")
    setattr(_declare, "library", library)


def attribute(name: str) -> Any:
    """What a chain of attributes from the package reaches, or ABSENT."""
    parts = name.split(".")
    found: Any = sys.modules.get(parts[0])
    for part in parts[1:]:
        try:
            found = getattr(found, part)
        except Exception:
            return ABSENT
    return found


def imported(name: str) -> Any:
    """The same, with every part imported that is a module."""
    parts = name.split(".")
    found = sys.modules[parts[0]]
    for i, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except Exception:
            try:
                found = import_module(".".join(parts[:i]))
            except BaseException:
                return ABSENT
    return found


def is_module(name: str) -> bool:
    """Whether `import name` works."""
    try:
        import_module(name)
    except BaseException:
        return False
    return True


def have(name: str, wanted: str) -> str:
    """How this torch has a name; "" if not as wanted."""
    parts = wanted.split()
    if "module" in parts and not is_module(name):
        return ""
    if attribute(name) is not ABSENT:
        return "attribute"
    return "import" if "attribute" not in parts and imported(name) is not ABSENT else ""


def theirs(names: list[str]) -> dict[str, str]:
    """PyTorch's answers: what needs no import is asked before anything is imported."""
    answers = {name: "attribute" if attribute(name) is not ABSENT else "" for name in names}
    for name, how in answers.items():
        if not how and imported(name) is not ABSENT:
            answers[name] = "import"
    for name, how in answers.items():
        if how and inspect.ismodule(imported(name)) and is_module(name):
            answers[name] = f"{how} module"
    return answers


def keywords_of(name: str) -> set[str] | None:
    """The keywords that a callable takes; None where it takes any, or nothing says so."""
    found = imported(name)
    if found is ABSENT:
        return set()
    try:
        parameters = inspect.signature(_in_python(found)).parameters.values()
    except (ValueError, TypeError, AttributeError):
        return set() if "rushlight" in sys.modules else _written_keywords(name, found)
    taken = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD}
    rest = [p.name for p in parameters if p.kind is p.VAR_KEYWORD]
    if "rushlight" in sys.modules and (rest == ["extra"] or hasattr(_in_python(found), "table_row")):
        return taken | _of_row(name, taken)
    return None if rest else taken


def _in_python(found: Any) -> Any:
    """What a built-in function of Rushlight's calls."""
    if "rushlight" not in sys.modules:
        return found
    from rushlight._engine.names.built_in import plain

    return plain(found)


def _of_row(name: str, taken: set[str]) -> set[str]:
    """What an op of Rushlight's takes beside what its signature says: other spellings."""
    from rushlight._engine.ops.signature import OTHERWISE, SYNONYMS
    from rushlight._engine.ops.table import NAMES

    space, _, last = name.removeprefix("torch.").rpartition(".")
    row = NAMES.get((space or "torch", last))
    known = taken | ({p.name for p in row[0].params} if row else set())
    others = {**SYNONYMS, **OTHERWISE.get(row[0].name if row else last, {}), **OTHERWISE.get(last, {})}
    return known | {key for key, value in others.items() if value in known}


def _written_keywords(name: str, found: Any) -> set[str] | None:
    """PyTorch's builtins: their schemas and the first lines of their documentation."""
    import torch

    last = name.rpartition(".")[2]
    schemas = [
        s for s in torch._C._jit_get_all_schemas() if s.name.rpartition("::")[2] in (last, _aten(name))
    ]
    taken = {("input" if a.name == "self" else a.name) for schema in schemas for a in schema.arguments}
    for line in re.findall(rf"^\s*{re.escape(last)}\((.*?)\)", found.__doc__ or "", re.M):
        taken |= set(re.findall(r"(\w+)\s*(?:=|,|$|:)", line))
    return taken if taken else set()


def _aten(name: str) -> str:
    _, space, last = ("." + name).rsplit(".", 2)
    return f"{space}_{last}"


def main(uses: str, out: str, pytorch: str = "") -> None:
    """Answer everything that some project uses."""
    warnings.simplefilter("ignore")
    torch_itself()
    with open(uses, encoding="utf-8") as file:
        projects = json.load(file).values()
    names = sorted({name for project in projects for name in project["names"]})
    if pytorch:
        with open(pytorch, encoding="utf-8") as file:
            wanted = json.load(file)
        answers = {name: have(name, how) for name, how in wanted["names"].items() if how}
    else:
        answers = theirs(names)
    empty = [name for name, how in answers.items() if how and _by_name_only(name)] if pytorch else []
    taken: dict[str, bool] = {}
    for use in sorted({use for project in projects for use in project["keywords"]}):
        name, _, keyword = use[:-1].partition("(")
        if name not in _KNOWN:
            _KNOWN[name] = keywords_of(name)
        known = _KNOWN[name]
        taken[use] = bool(answers.get(name)) and (known is None or keyword in known)
    told = {"names": answers, "keywords": taken, "by name only": empty}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(told, file, indent=0, sort_keys=True)


def _by_name_only(name: str) -> bool:
    from rushlight._engine.names.placeholders import is_absent

    return is_absent(imported(name))


_KNOWN: dict[str, set[str] | None] = {}

if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # what was imported may have started threads
