"""The tables of ctypes are what NVIDIA's headers say, as tools/cuda_headers.py read them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tools import cuda_headers

RECORD: dict[str, Any] = json.loads(cuda_headers.RECORD.read_text(encoding="utf-8"))
HEADERS = cuda_headers.headers()


@pytest.mark.parametrize("name", HEADERS)
def test_functions_have_the_headers_arguments(name: str) -> None:
    told, header = RECORD[name]["functions"], HEADERS[name]
    found = {
        f: ["pointer" if f in header.texts else "integer 4", *[cuda_headers.kind_of(t) for t in types]]
        for f, types in header.all.items()
    }
    assert found == told


@pytest.mark.parametrize("name", HEADERS)
def test_numbers_are_the_headers(name: str) -> None:
    assert dict(HEADERS[name].constants) == RECORD[name]["constants"]


@pytest.mark.parametrize("name", HEADERS)
def test_structures_lie_as_the_headers_say(name: str) -> None:
    found = {of: cuda_headers.fields_of(*how) for of, how in HEADERS[name].structures.items()}
    assert found == RECORD[name]["structures"]


def test_both_majors_of_cuda_were_read() -> None:
    majors = {name: {v // 1000 for v in RECORD[name]["versions"]} for name in ("cuda.h", "cublasLt.h")}
    assert majors["cuda.h"] == {12, 13}
