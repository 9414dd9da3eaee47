"""What strict export refuses by its settings, though it could be recorded, and what its errors are."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import rushlight as torch
from rushlight.export.errors import (
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
    UserError,
    UserErrorType,
)
from rushlight.export.recording.places import PACKAGE


@dataclass
class ExportDynamoConfig:
    """PyTorch's settings of strict export. `allow_rnn` says whether recurrent layers are taken; the others
    are kept, and change nothing here.
    """

    allow_rnn: bool = True
    do_not_emit_runtime_asserts: bool = True
    specialize_int: bool = True
    specialize_float: bool = True
    assume_static_by_default: bool = False
    automatic_dynamic_shapes: bool = False
    capture_dynamic_output_shape_ops: bool = True
    capture_scalar_outputs: bool = True
    prefer_deferred_runtime_asserts_over_guards: bool = False


DEFAULT_EXPORT_DYNAMO_CONFIG = ExportDynamoConfig()


def check(mod: Any) -> None:
    """Unsupported for a module with recurrent layers where these are not allowed."""
    if DEFAULT_EXPORT_DYNAMO_CONFIG.allow_rnn or not isinstance(mod, torch.nn.Module):
        return
    if any(isinstance(m, torch.nn.RNNBase) for m in mod.modules()):
        raise torch._dynamo.exc.Unsupported("Dynamo does not support RNN, GRU, or LSTM.")


_WITHIN: list[bool] = []


def is_on() -> bool:
    """Whether a program is being exported strictly."""
    return bool(_WITHIN)


@contextmanager
def told() -> Iterator[None]:
    """A context whose errors are those of strict export: what the program raises, what its ops refuse and
    what it asks of data are told as in PyTorch, where another recorder runs it.
    """
    _WITHIN.append(True)
    try:
        yield
    except (UserError, torch._dynamo.exc.Unsupported):
        raise
    except ConstraintViolationError as error:
        raise UserError(UserErrorType.CONSTRAINT_VIOLATION, str(error)) from error
    except GuardOnDataDependentSymNode as error:
        if error.of_tensor:
            raise torch._dynamo.exc.Unsupported(
                "Data-dependent branching\n  Explanation: Detected data-dependent branching (e.g. `if "
                f"my_tensor.sum() > 0:`).\n  Hint: Use `torch.cond` to express dynamic control flow.\n{error}"
            ) from error
        said = f"Consider annotating your code using torch._check*(). {error}"
        raise UserError(UserErrorType.ANTI_PATTERN, said) from error
    except Exception as error:
        if _raised(error):
            raise torch._dynamo.exc.Unsupported(
                "Observed exception\n  Explanation: No exception handler was found when encountering an "
                f"exception.\n\n  Developer debug context: raised exception {error!r}"
            ) from error
        if not isinstance(error, RuntimeError):
            raise
        raise torch._dynamo.exc.TorchRuntimeError(
            "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node with "
            f"fake tensors: got {error!r}"
        ) from error
    finally:
        _WITHIN.pop()


# What Python's own operations raise, and ops never do: an op's traceback ends at the program, too.
_OF_PYTHON = (AttributeError, KeyError, NameError, ZeroDivisionError)


def _raised(error: Exception) -> bool:
    """Whether the program raised it itself, not an op."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename.startswith(PACKAGE):
        return False
    by_statement = dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"
    return by_statement or isinstance(error, _OF_PYTHON)
