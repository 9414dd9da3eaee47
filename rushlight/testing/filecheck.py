"""FileCheck: what a text must hold, in order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass
class _Check:
    """One thing to look for. kind: check, next, same, count, dag, not, regex, highlighted."""

    kind: str
    text: str
    count: int = 1
    exactly: bool = False

    def shown(self) -> str:
        """As PyTorch's message names it."""
        times = f"-{self.count}" if self.kind == "count" else ""
        word = {"check": "CHECK", "highlighted": "CHECK-SOURCE-HIGHLIGHTED"}.get(
            self.kind, f"CHECK-{self.kind.upper()}"
        )
        return f"{word}{times}: {self.text}"


class FileCheck:
    """Checks are added by methods, which give the object back; run(text) raises RuntimeError for the first
    that does not hold. check(s): s comes after what was found before.
    """

    def __init__(self) -> None:
        self._checks: list[_Check] = []

    def _with(self, kind: str, text: str, **more: Any) -> FileCheck:
        self._checks.append(_Check(kind, text, **more))
        return self

    def check(self, text: str) -> FileCheck:
        """`text` comes next, somewhere."""
        return self._with("check", text)

    def check_not(self, text: str) -> FileCheck:
        """`text` does not come between what is found before and after."""
        return self._with("not", text)

    def check_same(self, text: str) -> FileCheck:
        """`text` comes next, on the same line."""
        return self._with("same", text)

    def check_next(self, text: str) -> FileCheck:
        """`text` comes next, on the next line."""
        return self._with("next", text)

    def check_count(self, text: str, count: int, exactly: bool = False) -> FileCheck:
        """`text` comes so many times; no more times, if exactly."""
        return self._with("count", text, count=count, exactly=exactly)

    def check_dag(self, text: str) -> FileCheck:
        """Like check(), but checks of this kind in a row may be found in any order."""
        return self._with("dag", text)

    def check_regex(self, text: str) -> FileCheck:
        """A regular expression matches next, somewhere."""
        return self._with("regex", text)

    def check_source_highlighted(self, text: str) -> FileCheck:
        """`text` comes next, and the line below it is underlined with ~ there."""
        return self._with("highlighted", text)

    def run(self, checks_file: Any, test_file: Any = None) -> None:
        """Look into a text, or into what str() says of an object. run(checks, text): checks stand in a text,
        too, as lines `# CHECK-NOT: words`.
        """
        if test_file is not None:
            _parsed(str(checks_file)).run(test_file)
            return
        text = checks_file if isinstance(checks_file, str) else str(checks_file)
        place, barred = 0, list[_Check]()
        i = 0
        while i < len(self._checks):
            check = self._checks[i]
            if check.kind == "not":
                barred.append(check)
                i += 1
                continue
            group = [check]
            while check.kind == "dag" and i + 1 < len(self._checks) and self._checks[i + 1].kind == "dag":
                i += 1
                group.append(self._checks[i])
            spans = [self._found(one, text, place) for one in group]
            begin, end = min(span[0] for span in spans), max(span[1] for span in spans)
            self._absent(barred, text, place, begin)
            place, barred = end, [_Check("not", one.text) for one in group if one.exactly]
            i += 1
        self._absent(barred, text, place, len(text))

    def _found(self, check: _Check, text: str, place: int) -> tuple[int, int]:
        """Where it begins and ends."""
        begin, end = place, len(text)
        if check.kind == "next":
            line = text.find("\n", place)
            if line < 0:
                raise self._missed(check, text, begin, end)
            begin = line + 1
        if check.kind == "count" and check.count == 0:
            self._absent([_Check("not", check.text)] if check.exactly else [], text, begin, end)
            return begin, begin
        if check.kind == "regex":
            match = re.compile(check.text).search(text, begin, end)
            if match is None:
                raise self._missed(check, text, begin, end)
            return match.span()
        first = start = text.find(check.text, begin, end)
        for _ in range(check.count - 1):
            start = text.find(check.text, start + len(check.text), end) if start >= 0 else start
        if check.kind == "highlighted":
            start = first = self._underlined(check, text, first)
        if start < 0:
            raise self._missed(check, text, begin, end)
        if check.kind in ("same", "next") and "\n" in text[begin:start]:
            raise self._found_before(check, text, begin, start)
        return first, start + len(check.text)

    def _underlined(self, check: _Check, text: str, start: int) -> int:
        """The first place from `start` on that is underlined; -1."""
        while start >= 0:
            column = start - (text.rfind("\n", 0, start) + 1)
            below = text.find("\n", start)
            line = text[below + 1 :].split("\n", 1)[0] if below >= 0 else ""
            if set(line[column : column + len(check.text)]) == {"~"}:
                return start
            start = text.find(check.text, start + 1)
        return start

    def _missed(self, check: _Check, text: str, begin: int, end: int) -> RuntimeError:
        return RuntimeError(
            f'Expected to find "{check.text}" but did not find it\nSearched string:\n{text[begin:end]}\nFrom '
            f"{check.shown()}\n"
        )

    def _found_before(self, check: _Check, text: str, begin: int, end: int) -> RuntimeError:
        return RuntimeError(
            f'Expected to not find "\\n" but found it\nSearched string:\n{text[begin:end]}\nFrom '
            f"{check.shown()}\n"
        )

    def _absent(self, barred: list[_Check], text: str, begin: int, end: int) -> None:
        for check in barred:
            if text.find(check.text, begin, end) >= 0:
                raise RuntimeError(
                    f'Expected to not find "{check.text}" but found it\nSearched string:\n{text[begin:end]}\n'
                    f"From {check.shown()}\n"
                )


_WRITTEN = re.compile(
    r"CHECK(?:-(NOT|NEXT|SAME|DAG|REGEX|SOURCE-HIGHLIGHTED|COUNT(?:-EXACTLY)?-(\d+)))?: ?(.*)"
)


def _parsed(text: str) -> FileCheck:
    """The checks that stand in the comments of a text; RuntimeError where there are none."""
    found = FileCheck()
    for line in text.splitlines():
        place = line.find("CHECK")
        if place < 0 or not line[:place].rstrip().endswith("#"):
            continue
        match = _WRITTEN.fullmatch(line[place:].strip())
        if match is None:
            raise RuntimeError(f"Could not parse check at:\n{line}\nCheck for bad input.")
        kind, count, words = match.groups()
        if count is not None:
            found.check_count(words, int(count), kind.startswith("COUNT-EXACTLY"))
            continue
        name = {"": "check", "SOURCE-HIGHLIGHTED": "highlighted"}.get(kind or "", (kind or "").lower())
        found._with(name, words)
    if not found._checks:
        raise RuntimeError(f"Could not parse any checks in:\n{text}\nCheck for bad input.")
    return found
