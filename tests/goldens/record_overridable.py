"""Record what PyTorch lets classes take over: python record_overridable.py > rushlight/_engine/dispatch/overridable.tsv

A line: the space, the name ("shape.__get__" of a property), and the parameters of PyTorch's stand-in for tests ("-"
where it has none). Names of the space "ignored" are never taken over.
"""

import inspect

import torch
from torch import overrides


def main():
    stand_ins, seen = overrides.get_testing_overrides(), set()
    rows = []
    spaces = {
        "torch": torch,
        "torch.functional": torch.functional,
        "torch.nn.functional": torch.nn.functional,
        "torch.nn.init": torch.nn.init,
        "torch.Tensor": torch.Tensor,
        "torch.linalg": torch.linalg,
        "torch.fft": torch.fft,
        "torch.special": torch.special,
    }
    for space, held in spaces.items():
        for name in dir(held):
            found = getattr(held, name)
            if hasattr(found, "__get__") and not callable(found):
                found, name = found.__get__, f"{name}.__get__"
            try:
                known = next((s for f, s in stand_ins.items() if f is found or f == found), None)
            except TypeError:
                continue
            if known is not None and (space, name) not in seen:
                seen.add((space, name))
                rows.append((space, name, str(inspect.signature(known)).replace(" ", "")))
    for found, known in stand_ins.items():
        if getattr(found, "__module__", None) == "torch.distributed.distributed_c10d":
            rows.append(
                ("torch.distributed", found.__name__, str(inspect.signature(known)).replace(" ", ""))
            )
    ignored = {id(f) for f in overrides.get_ignored_functions()}
    for space, held in spaces.items():
        rows += [
            ("ignored", f"{space}.{name}", "-") for name in dir(held) if id(getattr(held, name)) in ignored
        ]
    for row in sorted(set(rows)):
        print(*row, sep="\t")


main()
