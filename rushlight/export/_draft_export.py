"""torch.export.draft_export: a program even where the recording cannot be trusted, and what to mend.

It is recorded as export() records it. Where export() would stop, the sample inputs' own answer is taken, and
the place is written into the report.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from rushlight._engine.core.pytree import tree_map
from rushlight.export.errors import UserError, UserErrorType
from rushlight.export.symbols import Dim

log = logging.getLogger("torch.export")


class FailureType(IntEnum):
    """What cannot be trusted."""

    MISSING_FAKE_KERNEL, DATA_DEPENDENT_ERROR, GUARD_ADDED, MISMATCHED_FAKE_KERNEL = range(1, 5)

    def __str__(self) -> str:
        return self.name


@dataclass
class FailureReport:
    """One such place: what was asked (`expr`), what it was taken to be, and the lines of the program."""

    failure_type: FailureType
    data: dict[str, Any]
    xfail: bool = False

    def print(self, str_to_filename: dict[int, str] | None = None) -> str:
        """The report as text."""
        if self.failure_type is FailureType.DATA_DEPENDENT_ERROR:
            return (
                f"Data dependent error.\n    When exporting, we were unable to evaluate: "
                f"{self.data['expr']}.\n"
                f"    This occurred at:\n{self.data['user_stack']}\n"
                "    As a result, what the sample inputs gave is a constant of the program. Use torch.where, "
                "torch.clamp or another op of tensors instead."
            )
        if self.failure_type is FailureType.MISSING_FAKE_KERNEL:
            return (
                f"Missing fake kernel.\n    torch.ops.{self.data['op']} is missing a fake kernel "
                "implementation.\n    Please register one with torch.library.register_fake."
            )
        if self.failure_type is FailureType.MISMATCHED_FAKE_KERNEL:
            return (
                f"Mismatched fake kernel.\n    torch.ops.{self.data['op']} has a fake kernel implementation, "
                "but it has incorrect behavior, based on the real kernel.\n    The reason for the mismatch "
                f"is: {self.data['reason']}."
            )
        return (
            f"Guard Added.\n    The program does something else at other sizes: {self.data['expr']}.\n"
            f"    As a result, these dimensions are static: {self.data['dims']}. Give a range in which it "
            "does not, or write the program so that it does the same at all sizes."
        )


class Failures(list[FailureReport]):
    """What is found while a draft is recorded; `op_profiles`: of ops without fake functions that are true,
    what they gave (see torch._library.fake_profile).
    """

    def __init__(self) -> None:
        super().__init__()
        self.op_profiles: defaultdict[str, set[Any]] = defaultdict(set)


@dataclass
class DraftExportReport:
    """What draft_export found, as `exported._report`."""

    failures: list[FailureReport]
    str_to_filename: dict[int, str] = field(default_factory=dict)
    expressions_created: dict[int, dict[str, Any]] = field(default_factory=dict)
    op_profiles: dict[str, Any] = field(default_factory=dict)

    def successful(self) -> bool:
        """Whether export() would have given the same."""
        return not any(not failure.xfail for failure in self.failures)

    def __repr__(self) -> str:
        return f"DraftExportReport({self.failures})"

    def __str__(self) -> str:
        if self.successful():
            return (
                "##############################################################\n"
                "Congratulations: No issues are found during export, and it was able to soundly produce a "
                "graph.\n"
                "You can now change back to torch.export.export()\n"
                "##############################################################\n"
            )
        profiled = (
            f"\n{len(self.op_profiles)} op(s) have no fake function that is true. To run the program with "
            "fake tensors, do so inside of\n    with torch._library.fake_profile."
            "unsafe_generate_fake_kernels(ep._report.op_profiles):\n"
        ) * bool(self.op_profiles)
        told = "\n".join(f"{i}. {failure.print()}\n" for i, failure in enumerate(self.failures, 1))
        return (
            f"WARNING: {len(self.failures)} issue(s) found during export, and it was not able to soundly "
            f"produce a graph.\nPlease follow the instructions to fix the errors.\n\n{told}{profiled}"
        )


def _export(mod: Any, args: Any, kwargs: Any = None, dynamic_shapes: Any = None, **options: Any) -> Any:
    """One attempt at a draft; see `draft_export`."""
    from rushlight.export.tracing import drafted  # it imports this file

    return drafted(mod, args, kwargs, dynamic_shapes, **options)


def draft_export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    preserve_module_call_signature: tuple[str, ...] = (),
    strict: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> Any:
    """export() that gives a program also where it looks at a tensor's numbers, or does something else at
    other sizes: as it was for these inputs. The result's `_report` says where, and `_report.successful()`
    whether. Where the inputs' sizes contradict their Dims, these are left open, within the same bounds.

    The arguments are export()'s.
    """
    failures = Failures()
    options: Any = {"preserve_module_call_signature": preserve_module_call_signature, "failures": failures}
    try:
        found = _export(mod, args, kwargs, dynamic_shapes=dynamic_shapes, **options)
    except UserError as error:
        if error.error_type is not UserErrorType.CONSTRAINT_VIOLATION:
            raise
        opened = tree_map(_opened, dynamic_shapes)
        failures.append(FailureReport(FailureType.GUARD_ADDED, {"expr": str(error), "dims": opened}))
        found = _export(mod, args, kwargs, dynamic_shapes=opened, **options)
    report = DraftExportReport(list(failures), op_profiles=failures.op_profiles)
    found._report = report
    if not report.successful():
        log.warning("%s issue(s) found during export; print(ep._report) shows them", len(report.failures))
    return found


def _opened(dim: Any) -> Any:
    """A Dim as one that may follow others, or keep its size, within its bounds."""
    return Dim.AUTO(min=dim.min, max=dim.max) if isinstance(dim, Dim) else dim
