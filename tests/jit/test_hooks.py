"""Forward hooks run in TorchScript as they do in Python. (No postponed annotations here.)"""

import io

import rushlight as torch
from rushlight import nn


class Inner(nn.Module):
    def forward(self, x: str, n: int) -> str:
        return x + "_inner" + str(n)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.tag = "T"

    def forward(self, x: str) -> str:
        return self.inner(x + "_outer", 1)


def tagged(self, input: tuple[str]) -> tuple[str]:
    return (input[0] + self.tag,)


def asked(self, input: tuple[str]) -> str | None:
    if input[0] == "noT":
        return None
    return input[0] + "?"


def around(self, input: tuple[str], output: str) -> str:
    return output + "_from_" + input[0]


def inside(self, input: tuple[str, int], output: str) -> str:
    return output + str(input[1] + 1)


def test_hooks_run_around_forward():
    model = Outer()
    model.register_forward_pre_hook(tagged)
    model.register_forward_pre_hook(asked)
    model.register_forward_hook(around)
    model.inner.register_forward_hook(inside)
    compiled = torch.jit.script(model)
    buffer = io.BytesIO()
    torch.jit.save(compiled, buffer)
    buffer.seek(0)
    loaded = torch.jit.load(buffer)
    for word in ("a", "no"):
        assert compiled(word) == model(word) == loaded(word)
    assert compiled("a") == "aT?_outer_inner12_from_aT?" and compiled.forward("a") == "a_outer_inner12"


def test_hooks_tell_types_apart():
    plain, hooked = Outer(), Outer()
    hooked.register_forward_hook(around)
    assert torch.jit.script(plain)("a") == plain("a") != torch.jit.script(hooked)("a") == hooked("a")
