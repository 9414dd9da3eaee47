"""gpu.json as a page to read."""

from __future__ import annotations

from collections import Counter
from typing import Any


def page(found: dict[str, Any]) -> str:
    """Tables of all sections; what failed comes first in each."""
    parts = [
        "# On a GPU\n\nWritten by `python -m benchmarks.gpu`. Ratios are Rushlight's time by PyTorch's.\n"
    ]
    for name, runs in found.items():
        parts.append(f"## {name}\n")
        for library, run in runs.items():
            if run["ended"]:
                parts.append(f"**{library} ended with** `{run['ended'].strip().splitlines()[-1][:300]}`\n")
        parts.append(_cases(runs) if name == "cases" else _table(runs))
    return "\n".join(parts)


def _table(runs: dict[str, Any]) -> str:
    names: dict[str, dict[str, Any]] = {}
    for library, run in runs.items():
        for line in run["lines"]:
            names.setdefault(line["name"], {})[library] = line
    rows = ["| what | unit | Rushlight | PyTorch | ratio |", "|---|---|---|---|---|"]
    for name, both in names.items():
        one, two = both.get("rushlight", {}), both.get("pytorch", {})
        unit = one.get("unit") or two.get("unit") or ""
        rows.append(f"| {name} | {unit} | {_shown(one)} | {_shown(two)} | {_ratio(one, two)} |")
    return "\n".join(rows) + "\n"


def _shown(line: dict[str, Any]) -> str:
    if "error" in line:
        return f"`{line['error'].strip().splitlines()[-1][:120]}`"
    value = line.get("value", "")
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _ratio(one: dict[str, Any], two: dict[str, Any]) -> str:
    a, b = one.get("value"), two.get("value")
    if isinstance(a, str) and isinstance(b, str):
        return "the same" if a == b else "other"
    if not isinstance(a, float) or not isinstance(b, float) or not a or not b:
        return ""
    # Rates are better when they are larger.
    return f"{b / a:.2f}" if one.get("unit", "").endswith("/s") else f"{a / b:.2f}"


def _cases(runs: dict[str, Any]) -> str:
    lines = [line for run in runs.values() for line in run["lines"]]
    counts = Counter(line["value"] for line in lines if "value" in line)
    rows = [", ".join(f"{kind}: {count}" for kind, count in counts.most_common()), ""]
    for line in lines:
        if line.get("value") in ("wrong", "error"):
            rows.append(f"- {line['name']}: {line['value']}: {line.get('error', '').strip()[-200:]!r}")
    refused = sorted({line["name"].partition("-")[0] for line in lines if line.get("value") == "refused"})
    rows += ["", f"Refused by name: {', '.join(refused)}"]
    return "\n".join(rows) + "\n"
