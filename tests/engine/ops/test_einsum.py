"""What einsum says of sizes that do not go together, in PyTorch's words; how its results lie."""

import pytest

import rushlight as torch
from rushlight.fx.experimental.proxy_tensor import make_fx

REFUSED = {
    "iij": ([(3, 4, 2)], "subscript i is repeated for operand 0 but the sizes don't match, 4 != 3"),
    "ii->i": ([(3, 1)], "subscript i is repeated for operand 0 but the sizes don't match, 1 != 3"),
    "j,iji->": ([(4,), (1, 4, 3)], "subscript i is repeated for operand 1 but the sizes don't match, 3 != 1"),
    "ij,jk": ([(3, 4), (5, 6)], "subscript j has size 5 for operand 1 which does not broadcast with "
              "previously seen size 4"),
    "...i,...i": ([(5, 2, 3), (5, 4, 3)], "dimension 1 covered by ellipsis in operand 1has size 4 which does "
                  "not broadcast with previously seen ellipsis with size 2 for the respective dimension"),
}  # fmt: skip


@pytest.mark.parametrize("equation", REFUSED)
def test_sizes_apart(equation):
    shapes, words = REFUSED[equation]
    with pytest.raises(RuntimeError) as caught:
        torch.einsum(equation, *[torch.ones(shape) for shape in shapes])
    assert str(caught.value) == f"einsum(): {words}"


def test_sizes_of_one_and_none():
    assert torch.einsum("ij,jk,i->k", torch.ones(3, 1), torch.ones(4, 2), torch.ones(1)).tolist() == [12, 12]
    assert torch.einsum("ij,jk", torch.ones(3, 0), torch.ones(0, 2)).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize(
    ("equation", "sizes", "shape", "stride", "node"),
    [
        ("ij->ji", [(2, 3)], (3, 2), (1, 3), "PermuteBackward0"),
        ("iji->ji", [(3, 2, 3)], (2, 3), (3, 7), "PermuteBackward0"),
        ("...ii->...", [(2, 3, 3)], (2,), (1,), "SumBackward1"),
        ("bi,o->bio", [(2, 3), (4,)], (2, 3, 4), (12, 4, 1), "MulBackward0"),
        ("...d,d...->...", [(2, 3, 4), (4, 3)], (2, 3), (1, 2), "ViewBackward0"),
        ("bhts,bshd->bthd", [(2, 4, 3, 6), (2, 6, 4, 5)], (2, 3, 4, 5), (60, 5, 15, 1), "ViewBackward0"),
        ("bi,oij,bj->bo", [(2, 3), (4, 3, 5), (2, 5)], (2, 4), (4, 1), "ViewBackward0"),
    ],
)
def test_layout_and_node(
    equation: str, sizes: list[tuple[int, ...]], shape: tuple[int, ...], stride: tuple[int, ...], node: str
) -> None:
    operands = [torch.randn(size, requires_grad=True) for size in sizes]
    found = torch.einsum(equation, *operands)
    assert (tuple(found.shape), found.stride(), found.grad_fn.name()) == (shape, stride, node)


def test_one_operand_is_seen_through() -> None:
    x = torch.arange(9.0).view(3, 3)
    torch.einsum("ii->i", x).zero_()
    assert x.diagonal().tolist() == [0.0, 0.0, 0.0]


def test_a_graph_has_the_products_and_views() -> None:
    def f(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.einsum("ij,jk->ik", a, b)

    graph = make_fx(f)(torch.randn(2, 3), torch.randn(3, 4)).graph
    names = [str(node.target).split(".")[1] for node in graph.nodes if node.op == "call_function"]
    each = ["unsqueeze", "permute"]
    assert names == [*each, *each, "permute", "view", "permute", "view", "bmm", "view", "permute", "view"]


def test_the_result_of_a_product_lies_in_the_order_of_its_dims() -> None:
    a, b = torch.randn(4, 3), torch.randn(4, 2)
    assert torch.einsum("dc,da->ac", a, b).stride() == (3, 1)
    assert torch.einsum("dc,da->ac", a, b).equal((a.T @ b).T)
    with pytest.raises(RuntimeError, match="expected scalar type Double but found Float"):
        torch.einsum("i...,i...->...", torch.ones(3, 1, 2), torch.ones(3, 4, 1, dtype=torch.float64))


def test_an_ellipsis_of_more_dims_than_letters() -> None:
    x = torch.ones((2,) + (1,) * 59)
    assert torch.einsum("a...,a->a...", x, torch.tensor([1.0, 2.0])).flatten().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("equation", ["....a", "a...."])
def test_dots_after_an_ellipsis(equation: str) -> None:
    with pytest.raises(RuntimeError, match="for operand 0 for which an ellipsis was already found"):
        torch.einsum(equation, torch.ones(2, 2))


def test_a_backend_has_all_steps_at_the_first_call() -> None:
    graphs = list[list[str]]()

    def backend(module: torch.fx.GraphModule, given: list[torch.Tensor]) -> torch.fx.GraphModule:
        graphs.append([node.name for node in module.graph.nodes])
        return module

    compiled = torch.compile(lambda a, b: torch.einsum("ij,jk->ik", a, b).sin(), backend=backend)
    a, b = torch.randn(2, 3), torch.randn(3, 4)
    for _ in range(3):
        assert compiled(a, b).allclose((a @ b).sin())
    assert len(graphs) == 1
    assert {"bmm", "sin"} <= set(graphs[0])


def test_dtypes_apart() -> None:
    one, two = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float16)
    with pytest.raises(RuntimeError, match="^both inputs should have same dtype$"):
        torch.tensordot(one, two, 1)
    with pytest.raises(RuntimeError, match="input c10::Half, batch1: float, batch2: float$"):
        torch.baddbmm(two[None], one[None], one[None])
