"""All operator cases on the device, forward and backward, against the CPU's results."""

from __future__ import annotations

import json
import traceback
from typing import Any

from benchmarks.gpu.worker import told as in_short

# How often a case is called: as it is learnt, as it is prepared, by the function that was written of it.
CALLS = 3


def run(bench: Any, first: int, part: int, parts: int) -> int:
    """The cases from number `first` on, each `parts`th of them; exit status 1 after the device's context was
    lost.

    Each is "ok", "refused" (no kernel, said by name), "wrong" or "error".
    """
    from tests.cuda import test_rows as rows
    from tests.engine.ops import test_laws

    every = [(r, s) for r, s in test_laws.ALL if r.name not in rows.RANDOM and not r.options.get("factory")]
    every = every[:: bench.size(1, 12)]
    bench.torch.backends.cudnn.allow_tf32 = False  # the CPU's convolutions round no operands
    for number, (row, sample) in enumerate(every):
        if number < first or bench.late or number % parts != part:
            continue
        name, torch = f"{row.name}-{sample.name}", bench.torch
        print(json.dumps({"next": number + 1, "name": name}), flush=True)
        try:
            for _ in range(CALLS):
                kind, told = one(rows, row, sample), ""
            torch.cuda.synchronize()
        except NotImplementedError as error:
            kind, told = ("ok", "") if row.name in rows.REFUSED else ("refused", str(error)[:200])
        except AssertionError as error:
            kind, told = "wrong", str(error)[-400:]
        except Exception as error:
            if bench.lost():
                bench.line(name, "error", error=traceback.format_exc(limit=-3), told=in_short(error))
                return 1  # nothing works in this process from now on
            missing = "is not installed" in str(error)
            kind, told = ("refused" if missing else "error"), traceback.format_exc(limit=-3)
        bench.line(name, kind, **({"error": told} if told else {}))
        if bench.one:
            break
    return 0


def one(rows: Any, row: Any, sample: Any) -> str:
    """Compare a case; AssertionError where it differs."""
    here = rows.tensors_of(sample)
    for t in rows.leaves(here):
        t.requires_grad_()
    try:
        want = rows.flat(rows.call(row, here))
    except NotImplementedError:
        return "the CPU refuses it"
    loose = row.name in rows.LOOSE
    there = {name: rows.moved(value) for name, value in here.items()}
    found = rows.flat(rows.call(row, there))
    for f, w in zip(found, want, strict=True):
        rows.close(f.detach(), w.detach(), loose)
    rows._compare_gradients(here, there, want, found, loose)
    return "ok"
