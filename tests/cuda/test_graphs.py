"""CUDA graphs on a simulated device: what is captured runs again, on memory of its own, with new numbers."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import rushlight as torch

SETTINGS = pytest.mark.parametrize(
    "setting",
    [
        pytest.param("library", marks=pytest.mark.devices("simulated:1GB")),
        pytest.param("kernels", marks=pytest.mark.devices("simulated:1GB,kernels")),
    ],
)


def captured(function: Any, *given: torch.Tensor) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
    """A graph of function(*given), and its static result."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        function(*given)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = function(*given)
    return graph, found


@SETTINGS
def test_a_replay_computes_on_what_the_inputs_hold_then(setting: str) -> None:
    w, x = torch.randn(4, 4, device="cuda"), torch.zeros(3, 4, device="cuda")

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.nn.functional.gelu(x @ w) + 1, 1).cumsum(1)

    graph, found = captured(function, x)
    for seed in range(3):
        torch.manual_seed(seed)
        x.copy_(torch.randn(3, 4))
        graph.replay()
        torch.testing.assert_close(found, function(x))


@SETTINGS
def test_memory_is_the_graphs_own(setting: str) -> None:
    x = torch.randn(1 << 12, device="cuda")
    graph, found = captured(lambda x: (x + 1) * 2, x)
    torch.cuda.empty_cache()
    others = [torch.full((1 << 12,), 7.0, device="cuda") for _ in range(8)]
    graph.replay()
    torch.testing.assert_close(found, (x + 1) * 2)
    assert all((t == 7).all() for t in others)
    before = torch.cuda.memory_reserved()
    graph.reset()
    del graph, found
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < before


@SETTINGS
def test_random_numbers_go_on_from_replay_to_replay(setting: str) -> None:
    torch.manual_seed(5)
    wanted = [torch.rand(6, device="cuda") for _ in range(3)]
    x = torch.zeros(6, device="cuda")
    graph, found = captured(lambda x: x + torch.rand(6, device="cuda"), x)
    torch.manual_seed(5)
    for want in wanted:
        graph.replay()
        assert torch.equal(found, want)
    assert torch.equal(torch.rand(6, device="cuda"), torch.rand(6, device="cuda")) is False


def test_dropout_is_another_one_in_each_replay() -> None:
    x = torch.ones(256, device="cuda")
    graph, found = captured(lambda x: torch.nn.functional.dropout(x, 0.5), x)
    graph.replay()
    first = found.clone()
    graph.replay()
    assert not torch.equal(first, found)


def test_a_training_step() -> None:
    torch.manual_seed(0)
    nets = [torch.nn.Linear(4, 1).cuda() for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    sgd = [torch.optim.SGD(net.parameters(), 0.1, momentum=0.9) for net in nets]
    x, y = torch.randn(8, 4, device="cuda"), torch.randn(8, 1, device="cuda")

    def step(k: int) -> torch.Tensor:
        sgd[k].zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(nets[k](x), y)
        loss.backward()
        sgd[k].step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(0)
    step(1)
    for _ in range(4):
        graph.replay()
        torch.testing.assert_close(loss, step(1))


@SETTINGS
def test_graphed_callables(setting: str) -> None:
    torch.manual_seed(2)
    one = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.GELU(), torch.nn.Linear(6, 3)).cuda()
    two = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.GELU(), torch.nn.Linear(6, 3)).cuda()
    two.load_state_dict(one.state_dict())
    two = torch.cuda.make_graphed_callables(two, (torch.randn(2, 4, device="cuda", requires_grad=True),))
    for _ in range(3):
        x = torch.randn(2, 4, device="cuda")
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        one(a).pow(2).sum().backward()
        two(b).pow(2).sum().backward()
        torch.testing.assert_close(a.grad, b.grad)
    for p, q in zip(one.parameters(), two.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad)
    two.eval()
    torch.testing.assert_close(two(x), one(x))


def test_what_waits_for_the_device_is_refused() -> None:
    x, host = torch.ones(3, device="cuda"), torch.ones(3)
    for refused in (
        lambda: x.sum().item(),
        lambda: x.cpu(),
        lambda: x.copy_(host),
        lambda: x[x > 0],
        lambda: bool((x > 0).all()),
    ):
        graph = torch.cuda.CUDAGraph()
        with pytest.raises(torch.AcceleratorError, match="not permitted when stream is capturing"):
            with torch.cuda.graph(graph):
                refused()
        with pytest.raises(RuntimeError, match="without a preceding successful capture"):
            graph.replay()
    assert (x + 1).sum().item() == 6


def test_a_spoilt_capture_ends_with_an_error() -> None:
    x = torch.ones(3, device="cuda")
    with pytest.raises(torch.AcceleratorError, match="due to a previous error during capture"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            with pytest.raises(torch.AcceleratorError, match="stream is capturing"):
                x.sum().item()


def test_what_is_said_of_a_capture(tmp_path: Any) -> None:
    x, graph = torch.ones(3, device="cuda"), torch.cuda.CUDAGraph()
    x.exp()
    assert torch.cuda.is_current_stream_capturing() is False
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        y = x.exp()
    assert torch.cuda.is_current_stream_capturing() is False
    graph.debug_dump(str(tmp_path / "graph.txt"))
    assert "pointwise" in (tmp_path / "graph.txt").read_text(encoding="utf-8")
    pool = torch.cuda.graph_pool_handle()
    other = torch.cuda.CUDAGraph()
    with torch.cuda.graph(other, pool=pool):
        z = y * 2
    assert other.pool() == pool and graph.pool() != pool
    graph.replay()
    other.replay()
    torch.testing.assert_close(z, x.exp() * 2)
    with pytest.raises(RuntimeError, match="already owns a captured graph"):
        with torch.cuda.graph(graph):
            pass
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        graph.capture_begin(capture_error_mode="maybe")


@SETTINGS
def test_an_optimizer_that_counts_its_steps(setting: str) -> None:
    torch.manual_seed(0)
    nets = [torch.nn.Linear(4, 2).cuda() for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    adam = [torch.optim.AdamW(net.parameters(), 0.05, capturable=True) for net in nets]
    x = torch.randn(8, 4, device="cuda")

    def step(k: int) -> torch.Tensor:
        adam[k].zero_grad(set_to_none=True)
        loss = nets[k](x).pow(2).mean()
        loss.backward()
        adam[k].step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(0)
    torch.cuda.current_stream().wait_stream(side)
    step(1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(0)
    for _ in range(5):
        graph.replay()
        torch.testing.assert_close(loss, step(1))
    steps = [next(iter(a.state.values()))["step"].item() for a in adam]
    assert steps == [6, 6]


def test_an_optimizer_that_is_not_capturable() -> None:
    net = torch.nn.Linear(2, 2).cuda()
    adam = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 2, device="cuda")).sum().backward()
    adam.step()
    with pytest.raises(RuntimeError, match="instance of Adam but param_groups' capturable is False"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            adam.step()


@pytest.mark.parametrize("name", ["NAdam", "ASGD", "Adam"])
def test_replays_go_on_from_the_numbers_that_were_carried(name: str) -> None:
    found = []
    for captured in (False, True):
        torch.manual_seed(0)
        p = torch.randn(5, device="cuda", requires_grad=True)
        p.grad = torch.randn(5, device="cuda")
        optimizer = getattr(torch.optim, name)([p], lr=0.1, capturable=captured)
        for _ in range(3):
            optimizer.step()
        graph = torch.cuda.CUDAGraph()
        if captured:
            with torch.cuda.graph(graph):
                optimizer.step()
        for _ in range(3):
            graph.replay() if captured else optimizer.step()
        found.append(p.tolist())
    assert found[0] == found[1]


def test_a_graph_without_work_says_so() -> None:
    with pytest.warns(UserWarning, match="The CUDA Graph is empty"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            pass


def test_a_generator_may_draw_from_a_state_of_another() -> None:
    mine = torch.cuda.default_generators[0].manual_seed(3)
    state, other = mine.graphsafe_get_state(), mine.clone_state()
    first = torch.rand(4, device="cuda")
    assert mine.graphsafe_set_state(other) is mine and torch.cuda.default_generators[0] is mine
    assert torch.rand(4, device="cuda").equal(first) and state.get_offset() == other.get_offset() == 4
    mine.graphsafe_set_state(state)
    assert not torch.rand(4, device="cuda").equal(first) and state.get_offset() == 8
    with pytest.raises(NotImplementedError):
        torch.Generator().graphsafe_get_state()


@pytest.mark.devices("simulated:1GB,check")
def test_the_strict_mode_sees_replays_and_not_captures() -> None:
    x = torch.zeros(8, device="cuda")
    graph, beside = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph):
        y = x + 1
    x.fill_(2)  # nothing has read it yet
    graph.replay()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        graph.replay()
        assert y.tolist() == [3.0] * 8
        graph.replay()
    with pytest.raises(torch.AcceleratorError, match="a race between streams"):
        x.fill_(3)


def test_attention_with_a_mask_is_captured() -> None:
    q, k = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 8, 4)
    mask = torch.ones(3, 8, dtype=torch.bool).tril()
    mask[0] = False
    attention = torch.nn.functional.scaled_dot_product_attention
    wanted = attention(q, k, k, attn_mask=mask)
    given, graph = (q.cuda(), k.cuda(), k.cuda(), mask.cuda()), torch.cuda.CUDAGraph()
    attention(*given)
    with torch.cuda.graph(graph):
        found = attention(*given)
    graph.replay()
    torch.testing.assert_close(found.cpu(), wanted)


@pytest.mark.parametrize("devices", [("simulated",), ("driver", 1)], indirect=True)
def test_slopes_are_drawn_at_each_replay(devices: None) -> None:
    x, graph = torch.full((64,), -1.0, device="cuda"), torch.cuda.CUDAGraph()
    torch.nn.functional.rrelu(x, training=True)
    with torch.cuda.graph(graph):
        y = torch.nn.functional.rrelu(x, training=True)
    seen = []
    for _ in range(2):
        graph.replay()
        seen.append(y.tolist())
    assert seen[0] != seen[1] and all(1 / 8 <= -v <= 1 / 3 for v in (*seen[0], *seen[1]))
    x.fill_(2.0)
    graph.replay()
    assert y.tolist() == [2.0] * 64


def test_garbage_is_collected_before_a_capture_where_a_program_asks() -> None:
    class Ring:
        def __init__(self) -> None:
            self.own, self.memory = self, torch.zeros(4, device="cuda")

    def lives(asked: bool) -> bool:
        ring = weakref.ref(Ring())
        with torch.compiler.config.patch(force_cudagraph_gc=asked):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                torch.zeros(4, device="cuda").exp()
        return ring() is not None

    gc.disable()
    try:
        assert [lives(asked) for asked in (False, True)] == [True, False]
    finally:
        gc.enable()
