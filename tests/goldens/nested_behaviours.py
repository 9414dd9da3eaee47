"""What nested tensors of the jagged layout do, as functions of the package; PyTorch's answers are in JSON."""

from __future__ import annotations

from typing import Any

from answers import Table, attempts
from optim_behaviours import wave

NESTED = Table("nested_behaviours.json")


def _parts(torch: Any) -> list[Any]:
    return [torch.from_numpy(wave(n, 4, phase=float(n))).float() for n in (2, 5, 3)]


def _shown(found: Any) -> Any:
    """A nested tensor by its components."""
    nested = getattr(found, "is_nested", False)
    return [list(found.unbind()), str(found.layout), found.size(0), found.dim()] if nested else found


EXPRESSIONS = """
    n
    n.numel()
    n.size(-1)
    n.offsets()
    n.values()
    n.is_contiguous()
    torch.nested.to_padded_tensor(n, -1.0)
    n.to_padded_tensor(0.0, (3, 6, 4))
    n * 2 + n
    torch.relu(n - 1)
    n.sin()
    n.to(torch.float64)
    n + torch.ones(4)
    n * torch.arange(3.0).reshape(3, 1, 1)
    n.clone().exp_()
    n == n
    F.linear(n, torch.ones(2, 4))
    n.softmax(-1)
    F.layer_norm(n, (4,))
    n.sum()
    n.mean()
    n.max()
    n.sum(-1)
    n.sum(1)
    n.sum(-1, keepdim=True)
    n.mean(-1, keepdim=True)
    n.transpose(1, 2)
    n.transpose(1, 2).transpose(1, 2)
    n.unflatten(-1, [2, 2])
    n.unflatten(-1, [2, 2]).transpose(1, 2)
    n.unflatten(-1, [2, 2]).flatten(-2)
    n.view(3, -1, 2, 2)
    n.reshape(3, -1, 2, 2)
    n.unsqueeze(-1)
    n.unsqueeze(-1).squeeze(-1)
    n @ torch.ones(4, 2)
    torch.cat([n, n], -1)
    n.chunk(2, -1)[1]
    n[1]
    n[-1]
    len(n)
    torch.zeros_like(n)
    nn.Dropout(0.0)(n)
    nn.Linear(4, 4).requires_grad_(False)(n).size(2)
    torch.nested.nested_tensor_from_jagged(x, torch.tensor([0, 2, 7, 10]))
    torch.nested.nested_tensor_from_jagged(x, lengths=torch.tensor([2, 5, 3]))._max_seqlen
    torch.nested.nested_tensor_from_jagged(x)
    torch.nested.narrow(r, 1, torch.tensor([0, 1]), torch.tensor([3, 4]), layout=torch.jagged)
    torch.nested.masked_select(r, r > 0.2)
    torch.nested.as_nested_tensor(r, layout=torch.jagged)
    F.embedding(i, torch.arange(10.0).reshape(5, 2))
    torch.equal(n.values(), n.clone().values())
"""


@NESTED
def expressions(torch: Any) -> Any:
    n = torch.nested.nested_tensor(_parts(torch), layout=torch.jagged)
    i = torch.nested.nested_tensor([torch.tensor([1, 2]), torch.tensor([0, 1, 4])], layout=torch.jagged)
    x = torch.from_numpy(wave(10, 4)).float()
    names = {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "n": n,
        "i": i,
        "x": x,
        "r": x.reshape(2, 5, 4),
    }
    return {text: _shown(found) for text, found in attempts(EXPRESSIONS, names).items()}


@NESTED
def gradients(torch: Any) -> Any:
    leaf = torch.nested.nested_tensor(_parts(torch), layout=torch.jagged, requires_grad=True)
    (leaf * leaf).sum().backward()
    parts = [part.requires_grad_() for part in _parts(torch)]
    nested = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
    (nested.softmax(-1) * nested).values().sum().backward()
    padded = torch.nested.as_nested_tensor(_parts(torch), layout=torch.jagged).requires_grad_()
    return [_shown(leaf.grad), leaf.is_leaf, [part.grad for part in parts], padded.requires_grad]


@NESTED
def strided(torch: Any) -> Any:
    n = torch.nested.nested_tensor(_parts(torch))
    names = {"torch": torch, "F": torch.nn.functional, "n": n}
    texts = """
        n
        n.size(1)
        n.size(2)
        str(n)
        n.values()
        torch.relu(n * 2 + n)
        n.to_padded_tensor(0.0)
        n.transpose(1, 2)
        F.linear(n, torch.ones(2, 4))
        n.softmax(-1)
        n[1]
    """
    return {text: _shown(found) for text, found in attempts(texts, names).items()}
