"""Writes rushlight/_engine/names/placeholders.tsv: PyTorch's names that are only there to be imported.

    python tools/absent_names.py write FOLDER_OF_TORCH FOLDER_OF_TORCHVISION MENTIONED
    python tools/absent_names.py prune

`prune` drops the names that Rushlight has got itself since: after building some, and after a merge (where git
joins both sides' lines).

The table holds all modules with all their names, private ones too. MENTIONED has a dotted name a line: those
that projects use, some of which no file shows. What the table has said of a name stays.

Names are read off the files of an installed PyTorch (nothing is imported or copied but names and plain
numbers); those that Rushlight has itself are left out. A line is a module, or a tab and a name of the module
above, with a mark: `!` an exception, `@` a decorator, `=literal` a constant, `:MEMBER,...` an enumeration,
`>path` another name of what Rushlight has, `?` something else that is neither class nor function.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from rushlight._engine.names import placeholders

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "rushlight" / "_engine" / "names" / "placeholders.tsv"
SKIPPED = re.compile(
    r"torch\.(_vendor|_inductor\.(fx_passes\.serialized|codegen\.cutlass)"
    r"|_inductor\.autoheuristic\.artifacts|contrib|_sources|utils\.hipify|bin|lib|share|include)\b"
)
# Typing's and Python's own, which every file imports.
FOREIGN = frozenset("annotations TYPE_CHECKING log logger aten prims lib T R P F L U K V S".split())
ENUM = re.compile(r"^class (\w+)\((?:\w+\.|str, ?|int, ?)*(?:Enum|IntEnum|Flag|IntFlag|StrEnum)\):", re.M)
DECORATOR = re.compile(
    r"_?register_|functional_datapipe$|compatibility$|deprecated|exposed_in$|triton_op$|"
    r"substitute_in_graph$|leaf_function$|with_comms$|construct_datapipe|(non_)?guaranteed_det"
)
MEMBER = re.compile(r"^    ([A-Z]\w*)\s*(?::[^=\n]*)?= ", re.M)


# Names of compiled modules that Rushlight has elsewhere: an error that is caught by one is raised by the
# other.
ELSEWHERE = {
    "torch._C.AcceleratorError": "torch.AcceleratorError",
    "torch._C.JITException": "torch.jit.Error",
    "torch._C.OutOfMemoryError": "torch.OutOfMemoryError",
}


def names_of(text: str, package: str) -> dict[str, str]:
    """A file's names with their marks."""
    found: dict[str, str] = {}
    for source, several in re.findall(r"^from ([\w.]+) import (\([^)]*\)|[^\n(]*)", text, re.M):
        source = absolute(source, package)
        if source.startswith("torch"):
            listed = re.sub(r"#.*", "", several).strip("()\\ \n")
            for part in filter(None, (p.strip() for p in listed.split(","))):
                name = part.split(" as ")[-1].strip()
                if name.isidentifier():
                    found[name] = f"<{source}.{part.split(' as ')[0].strip()}"
    for name, bases in re.findall(r"^class (\w+)(?:\(([^)]*)\))?:", text, re.M):
        found[name] = "!" if re.search(r"(Error|Exception|Warning)\b", bases or "") else ""
    for match in ENUM.finditer(text):
        body = re.split(r"\n(?=\S)", text[match.end() :], maxsplit=1)[0]
        members = MEMBER.findall(body)
        if members:
            found[match[1]] = ":" + ",".join(members)
    for name in re.findall(r"^(?:async )?def (\w+)\(", text, re.M):
        found[name] = "@" if DECORATOR.match(name) else ""
    for name, value in re.findall(r"^([A-Za-z_]\w*)\s*(?::[^=\n]+)?= (.*)$", text, re.M):
        if name not in found:
            found[name] = _literal(value)
    return {name: mark for name, mark in found.items() if name not in FOREIGN and not name.startswith("__")}


def absolute(source: str, package: str) -> str:
    """The module that an import in a package names, which may be relative."""
    dots = len(source) - len(source.lstrip("."))
    above = package.split(".")[: len(package.split(".")) - dots + 1]
    return ".".join([*above, source[dots:]]).rstrip(".") if dots else source


def groups(text: str, module: str) -> dict[str, dict[str, str]]:
    """The classes of a file of settings, whose members are settings, too."""
    found = {}
    for match in re.finditer(r"^class (\w+).*:$", text, re.M):
        body = re.split(r"\n(?=\S)", text[match.end() :], maxsplit=1)[0]
        members = re.findall(r"^    (\w+)(?:: [^=\n]+)? = (.*)$", body, re.M)
        found[f"{module}.{match[1]}"] = {name: _literal(value) for name, value in members}
    return found


def _literal(text: str) -> str:
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return "?"
    written = repr(value)
    plain = isinstance(value, (int, float, str, bool, type(None))) and not re.search(r"[\s,]", written)
    return f"={written}" if plain else "?"


def read(folder: Path) -> dict[str, dict[str, str]]:
    """Every module of a torch folder, and its names."""
    modules: dict[str, dict[str, str]] = {}
    stars: list[tuple[str, str]] = []
    for path in sorted([*folder.rglob("*.pyi"), *folder.rglob("*.py")]):
        parts = [folder.name, *path.relative_to(folder).with_suffix("").parts]
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if not SKIPPED.match(module) and all(part.isidentifier() for part in parts):
            text = path.read_text(encoding="utf-8", errors="replace")
            package = module if parts[-1] == "__init__" else ".".join(parts[:-1])
            modules.setdefault(module, {}).update(names_of(text, package))
            for source in re.findall(r"^from ([\w.]+) import \*", text, re.M):
                stars.append((module, absolute(source, package)))
            if path.stem == "config":
                modules.update(groups(text, module))
    for module, source in stars * 2:  # twice, for stars of stars
        for name, mark in modules.get(source, {}).items():
            if not name.startswith("_") and not mark.startswith("<torch.") and module in modules:
                modules[module].setdefault(name, f"<{source}.{name}")
    for names in modules.values():
        for name, mark in names.items():
            if mark.startswith("<"):
                names[name] = origin(mark, modules)
    if "torch" in modules:
        modules["torch"] = {**modules.get("torch._C._VariableFunctions", {}), **modules["torch"]}
    return modules


def origin(mark: str, modules: dict[str, dict[str, str]]) -> str:
    """The mark of an imported name: `>` and where it is at home, if Rushlight has it there."""
    for _ in range(6):
        if there(mark[1:]):
            return ">" + mark[1:] if mark != "<torch.torch" else ""
        module, _, name = mark[1:].rpartition(".")
        mark = modules.get(module, {}).get(name, "")
        if not mark.startswith("<"):
            break
    return mark if mark[:1] != "<" else ""


def chosen(modules: dict[str, dict[str, str]], mentioned: set[str]) -> dict[str, dict[str, str]]:
    """All of these modules' names, and mentioned names that no file shows."""
    kept = {module: dict(names) for module, names in modules.items()}
    for full in sorted(mentioned):
        module, _, name = full.rpartition(".")
        if module.startswith("torch.ops.") and module.count(".") == 2:
            kept.setdefault(module, {})
        if module in kept and full not in modules:
            kept[module].setdefault(name, "")
    return kept


_NONE = object()


def _attribute(owner: Any, name: str) -> Any:
    """An attribute; _NONE where asking for it fails in whatever way."""
    try:
        return getattr(owner, name)
    except Exception:
        return _NONE


@cache
def there(name: str) -> bool:
    """Whether Rushlight itself has a name of torch or torchvision."""
    if not name.startswith(("torch.", "torchvision.")):
        return False
    parts = name.split(".")
    parts[0] = {"torch": "rushlight", "torchvision": "rushlight_vision"}[parts[0]]
    found: Any = import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        inner, found = found, _attribute(found, part)
        hidden = isinstance(inner, ModuleType) and not isinstance(found, ModuleType) and i < len(parts)
        if found is _NONE or hidden:  # a package's function may have its module's name
            try:
                found = import_module(".".join(parts[:i]))
            except ImportError:
                if found is _NONE:
                    return False
    return not placeholders.is_absent(found)


def write(modules: dict[str, dict[str, str]]) -> None:
    """Writes the table: what of these modules' names is not there."""
    blocks = []
    for module, names in sorted(modules.items()):
        absent = not there(module)
        kept = [
            name + (f">{ELSEWHERE[full]}" if (full := f"{module}.{name}") in ELSEWHERE else mark)
            for name, mark in sorted(names.items())
            if absent or not there(f"{module}.{name}")
        ]
        if absent or kept:
            blocks.append("\n\t".join([module, *kept]) + "\n")
    TABLE.write_text("".join(blocks), encoding="utf-8")
    count = sum(block.count("\t") for block in blocks)
    print(f"{len(blocks)} modules, {count} names, {TABLE.stat().st_size} bytes")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    anew = commands.add_parser("write", help="read PyTorch's files")
    anew.add_argument("folders", type=Path, nargs=2)
    anew.add_argument("mentioned", type=Path)
    commands.add_parser("prune", help="drop the names that are there by now")
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    before = {module: placeholders.names(module) for module in placeholders._LINES}
    for table in (placeholders._LINES, placeholders._PACKAGES, placeholders._NAMES):
        table.clear()  # what only the table has is not there
    if given.command == "prune":
        write({placeholders.shown(module): names for module, names in before.items()})
    else:
        mentioned = set(given.mentioned.read_text(encoding="utf-8").split())
        modules = chosen({**read(given.folders[0]), **read(given.folders[1])}, mentioned)
        for module, names in before.items():
            modules.setdefault(placeholders.shown(module), {}).update(names)
        write(modules)


if __name__ == "__main__":
    main()
