"""Checkers' errors over programs, with Rushlight standing for torch and with PyTorch's own types.

    python tools/typecheck.py --torch-python PYTHON [--pyright COMMAND] [--fragments] FILE...

PYTHON has PyTorch and what the programs import. Each file is checked by pyright (strict) and mypy, twice; a
line says how many errors there are with either. Status 1 where a program has more with Rushlight's types.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "guides")]

from rushlight.aliases import stubs  # noqa: E402


def stand_in(folder: Path) -> None:
    """A package torch in a folder, as a checker sees it."""
    for path, text in stubs(ROOT / "rushlight", "torch").items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "torch" / "__init__.py").touch()


def pyright(command: str, python: str, files: list[Path], paths: list[Path]) -> dict[Path, list[str]]:
    """pyright's errors in strict mode, by file."""
    config = Path(os.path.commonpath([f.parent for f in files]), "pyrightconfig.json")
    config.write_text(
        json.dumps(
            {
                "include": [str(f.relative_to(config.parent)) for f in files],
                "extraPaths": [str(p) for p in paths],
                "pythonVersion": "3.11",
                "typeCheckingMode": "strict",
            }
        )
    )
    done = subprocess.run(
        [*command.split(), "-p", str(config), "--pythonpath", python, "--outputjson"],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    found: dict[Path, list[str]] = {f: [] for f in files}
    told = json.loads(done.stdout)
    if told["summary"]["filesAnalyzed"] < len(files):
        raise SystemExit(f"pyright looked at {told['summary']['filesAnalyzed']} of {len(files)} files")
    for said in told["generalDiagnostics"]:
        if said["severity"] == "error":
            line = said["range"]["start"]["line"] + 1
            found.setdefault(Path(said["file"]), []).append(f"{line}: {said['message'].splitlines()[0]}")
    return found


def mypy(python: str, files: list[Path], paths: list[Path]) -> dict[Path, list[str]]:
    """mypy's errors, by file."""
    found: dict[Path, list[str]] = {f: [] for f in files}
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "mypy",
                "--config-file",
                os.devnull,
                "--python-executable",
                python,
                "--ignore-missing-imports",
                "--check-untyped-defs",
                "--follow-imports",
                "silent",
                "--cache-dir",
                cache,
                *map(str, files),
            ],
            capture_output=True,
            text=True,
            timeout=1200,
            cwd=cache,
            env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, paths))},
        )
        for line in done.stdout.splitlines():
            said = re.match(r"(.*?):(\d+): error: (.*)", line)
            if said:
                found.setdefault(Path(cache, said[1]).resolve(), []).append(f"{said[2]}: {said[3]}")
    if done.returncode > 1:
        raise SystemExit(f"mypy failed: {done.stdout[-800:]}{done.stderr[-800:]}")
    return found


def fragments(folder: Path) -> list[Path]:
    """The user guides' fragments, each as a file with the imports that the guides assume."""
    from run_fragments import IMPORTS, fragments as read

    files = []
    for name, code in read().items():
        files.append(folder / f"{re.sub(r'[^A-Za-z0-9]+', '_', name)}.py")
        files[-1].write_text(IMPORTS + code, encoding="utf-8")
    return files


def main() -> int:
    """Check the files both ways, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--pyright", default="pyright")
    parser.add_argument("--fragments", action="store_true", help="the fragments of tests/guides as well")
    parser.add_argument("--show", action="store_true", help="what is wrong with Rushlight's types alone")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    python = options.torch_python
    worse = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        files = []
        for i, file in enumerate(options.files):  # programs share the names of their modules
            files.append(folder / f"{re.sub('[^A-Za-z0-9]', '_', '_'.join(file.parts[-3:]))}_{i}.py")
            files[-1].write_bytes(file.read_bytes())
        if options.fragments:
            (folder / "fragments").mkdir()
            files += fragments(folder / "fragments")
        stand_in(folder / "types")
        paths = [folder / "types", ROOT]
        for checker, ours, theirs in (
            (
                "pyright",
                pyright(options.pyright, python, files, paths),
                pyright(options.pyright, python, files, []),
            ),
            ("mypy", mypy(python, files, paths), mypy(python, files, [])),
        ):
            worse += compare(checker, files, ours, theirs, options.show)
    return int(worse > 0)


def compare(
    checker: str, files: list[Path], ours: dict[Path, list[str]], theirs: dict[Path, list[str]], show: bool
) -> int:
    """Print one checker's counts; how many files have more errors with our types."""
    worse = 0
    for file in files:
        mine, other = ours.get(file, []), theirs.get(file, [])
        worse += len(mine) > len(other)
        if len(mine) > len(other) or len(files) < 40:
            print(f"{checker:8}{len(mine):5}{len(other):5}  {file.name}{'  MORE' * (len(mine) > len(other))}")
        for said in (Counter(mine) - Counter(other)).elements() if show else ():
            print(f"            {file.name}:{said}")
    total = [sum(len(found.get(file, [])) for file in files) for found in (ours, theirs)]
    print(f"{checker:8}{total[0]:5}{total[1]:5}  in all, of {len(files)} programs; {worse} have more")
    return worse


if __name__ == "__main__":
    raise SystemExit(main())
