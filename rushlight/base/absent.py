"""What the modules of devices that are not there answer: PyTorch's build for CPUs has their names, too."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

# Programs catch them; nothing here raises them.
OutOfMemoryError, AcceleratorError = (type(name, (RuntimeError,), {"__module__": "torch"})
                                      for name in ("OutOfMemoryError", "AcceleratorError"))
Answer = Callable[[str], Any]


def anew(kind: type) -> Answer:
    """Nothing, none or nothing in it: kind()."""
    return lambda name: kind()


def refusal(error: type[Exception], text: str) -> Answer:
    """Raise `error` with PyTorch's words, and what to do."""
    def refuse(name: str) -> Any:
        raise error(f"{text}: torch.{name} needs a device that is not there. Rushlight computes on the CPU; "
                    f"ask torch.{name.partition('.')[0]}.is_available() first")
    return refuse


def functions(module: str, table: Sequence[tuple[Answer, str]]) -> dict[str, Callable[..., Any]]:
    """The functions of a module: `table` says which names have which answer, whatever the arguments."""
    def function(name: str, answer: Answer) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            """As PyTorch's without such a device."""
            return answer(f"{module}.{name}")
        run.__name__ = name
        return run
    return {name: function(name, answer) for answer, names in table for name in names.split()}
