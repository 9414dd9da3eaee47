"""What Tensor's odd methods, streams and hooks of the graph do; PyTorch's answers: tensor_behaviours.json."""

from __future__ import annotations

from typing import Any

from answers import Table, attempt, attempts

TENSOR = Table("tensor_behaviours.json")


@TENSOR
def fill_diagonal(torch: Any) -> Any:
    def tracked(wrap: bool) -> Any:
        leaf = torch.ones(7, 2, requires_grad=True)
        changed = (leaf * 2).fill_diagonal_(5, wrap)
        changed.sum().backward()
        return changed, leaf.grad

    return attempts(
        """
        x(2, 3).fill_diagonal_(5)
        x(7, 2).fill_diagonal_(5, wrap=True)
        x(8, 2).fill_diagonal_(5, wrap=True)
        x(9, 2).fill_diagonal_(5, wrap=True)
        x(7, 2).fill_diagonal_(5)
        x(2, 7).fill_diagonal_(5, True)
        x(3, 3, 3).fill_diagonal_(1).nonzero()
        x(3, 4, 3).fill_diagonal_(1)
        x(3).fill_diagonal_(1)
        x(3, 3).long().fill_diagonal_(2.7)
        x(3, 3).bool().fill_diagonal_(3)
        x(3, 3).bfloat16().fill_diagonal_(0.3)
        x(2, 2).cfloat().fill_diagonal_(1j)
        x(3, 3).fill_diagonal_(1j)
        x(0, 3).fill_diagonal_(1)
        x(4, 3).t().fill_diagonal_(fill_value=1)
        x(1, 3).expand(3, 3).fill_diagonal_(1)
        x(2, 2).requires_grad_().fill_diagonal_(1)
        tracked(False)
        tracked(True)
    """,
        {"x": torch.zeros, "tracked": tracked},
    )


@TENSOR
def by_hand(torch: Any) -> Any:
    """apply_, map_, map2_: what the function gets and in which order, and what becomes of its results."""

    def seen(t: Any) -> Any:
        found: list[Any] = []
        return found, t.apply_(lambda v: found.append(v) or v)

    def unchanged(t: Any) -> Any:
        before = t._version
        t.apply_(lambda v: v + 1)
        return t._version - before

    return attempts(
        """
        torch.arange(4.0).apply_(lambda v: v * 2)
        torch.arange(4).apply_(lambda v: v * 2.5)
        torch.tensor([True, False]).apply_(lambda v: not v)
        torch.ones(2, dtype=torch.bfloat16).apply_(lambda v: v / 3)
        torch.ones(2, dtype=torch.complex64).apply_(lambda v: v * 1j)
        torch.ones(2).apply_(lambda v: torch.tensor(7.0))
        torch.ones(2).apply_(lambda v: "a")
        torch.ones(2).apply_(lambda v: None)
        torch.ones(2).apply_(lambda v: 1j)
        torch.ones(2).apply_(3)
        torch.ones(0).apply_(lambda v: 1 / 0)
        torch.ones(2).apply_(lambda v: 1 / 0)
        torch.tensor(3.0).apply_(lambda v: v + 1)
        torch.ones(1, 2).expand(3, 2).apply_(lambda v: v + 1)
        torch.ones(2, device="meta").apply_(lambda v: v).shape
        torch.ones(2, requires_grad=True).apply_(lambda v: v)
        seen(torch.arange(6.0).view(2, 3).t())
        seen(torch.arange(2))
        unchanged(torch.ones(2))
        torch.arange(4.0).map_(torch.ones(4), lambda a, b: a - b)
        torch.arange(4.0).map_(torch.ones(1), lambda a, b: a - b)
        torch.ones(1).map_(torch.ones(4), lambda a, b: a - b)
        torch.arange(4.0).map_(torch.ones(4).long(), lambda a, b: a - b)
        torch.arange(4.0).map_(2, lambda a, b: a - b)
        torch.ones(2).map_(torch.ones(2, requires_grad=True), lambda a, b: a)
        torch.ones(2).map2_(torch.ones(2), torch.ones(2), lambda a, b, c: a + b + c)
        torch.zeros(1).is_nonzero()
        torch.tensor([[1j]]).is_nonzero()
        torch.zeros(2).is_nonzero()
        torch.zeros(0).is_nonzero()
        torch.is_nonzero(torch.ones(1))
        torch.get_device(torch.ones(1))
    """,
        {"torch": torch, "seen": seen, "unchanged": unchanged},
    )


@TENSOR
def streams(torch: Any) -> Any:
    event, stream = torch.Event(), torch.Stream(device="cpu:0")

    def inside() -> Any:
        with stream as found:
            return found is stream

    return attempts(
        """
        event.query(), event.synchronize(), event.wait(), event.device, event.event_id
        event.record()
        stream.query(), stream.synchronize(), stream.wait_event(event)
        stream.device, stream.device_index, stream.device_type, stream.stream_id
        stream.record_event()
        stream.wait_stream(stream)
        inside()
        torch.Stream("cpu", priority=1).query()
        torch.Event("cpu", enable_timing=True, blocking=True, interprocess=True).query()
        torch.Stream(0)
        torch.GradScaler is torch.amp.GradScaler
        torch.cpu.Stream().wait_event(torch.cpu.Event()), torch.cpu.Event().query()
    """,
        {"torch": torch, "event": event, "stream": stream, "inside": inside},
    )


@TENSOR
def windows(torch: Any) -> Any:
    """Pools that give places, and conv_tbc."""
    x = torch.arange(48.0).sin().view(1, 2, 4, 6).requires_grad_()

    def grads(found: Any) -> Any:
        return torch.autograd.grad(found[0].sum(), x)

    def sequence(dtype: Any, pad: int) -> Any:
        i, w, b = torch.arange(24.0).view(4, 2, 3) / 10, torch.arange(24.0).view(2, 3, 4) / 20, torch.ones(4)
        given = [t.to(dtype).requires_grad_() for t in (i, w, b)]
        found = torch.nn.functional.conv_tbc(*given, pad)
        return found, found.stride(), torch.autograd.grad((found * found).sum(), given)

    def words(function: Any) -> Any:
        return attempt(function)[:60]

    i, w, b = torch.ones(4, 2, 3), torch.ones(2, 3, 4), torch.ones(4)
    return attempts(
        """
        F.adaptive_max_pool1d_with_indices(x[0], 4)
        F.adaptive_max_pool1d_with_indices(x[0], (3,), True)
        F.adaptive_max_pool2d_with_indices(x, (3, 4))
        F.adaptive_max_pool2d_with_indices(x, (None, 5))
        F.adaptive_max_pool3d_with_indices(x, 2)
        grads(F.adaptive_max_pool2d_with_indices(x, (3, 4)))
        torch.adaptive_max_pool1d(x[0], 5)
        torch.max_pool1d_with_indices(x[0], 2)
        F.max_pool2d_with_indices(x, 2)
        F.adaptive_max_pool2d(x[0], (3, 3, 3))
        F.adaptive_avg_pool2d(x[0, 0], 3)
        sequence(torch.float32, 0)
        sequence(torch.float64, 2)
        sequence(torch.bfloat16, 1)[0]
        torch.conv_tbc(i, w, b).shape
        torch.conv_tbc(i[0], w, b)
        torch.conv_tbc(i, w[0], b)
        torch.conv_tbc(i, w, b[None])
        words(lambda: torch.conv_tbc(i, w, b[:3]))
        words(lambda: torch.conv_tbc(i, w[:, :2], b))
        torch.conv_tbc(i, w, None)
    """,
        {
            "torch": torch,
            "F": torch.nn.functional,
            "x": x,
            "grads": grads,
            "sequence": sequence,
            "i": i,
            "w": w,
            "b": b,
            "words": words,
        },
    )


@TENSOR
def several_hooks(torch: Any) -> Any:
    """register_multi_grad_hook: when, and with what."""
    register = torch.autograd.graph.register_multi_grad_hook

    def told(mode: str) -> Any:
        a, b, c, d = (torch.full((2,), float(n), requires_grad=True) for n in range(1, 5))
        heard: list[Any] = []
        handle = register(
            (a, b, c, d),
            lambda grads: heard.append(
                grads if mode == "any" else [g if g is None else g.tolist() for g in grads]
            ),
            mode=mode,
        )
        (a * b * c).sum().backward()
        (a * b + c).sum().backward(inputs=(a,))
        (a * a).sum().backward()
        with handle:
            (c + d).sum().backward()
        (a * b).sum().backward()
        return heard

    def inside() -> Any:
        a = torch.ones(2, requires_grad=True)
        b, c = a * 2, a * 3
        heard: list[Any] = []
        register((b, c), lambda grads: heard.append([g is not None for g in grads]))
        b.sum().backward(retain_graph=True)
        (b + c).sum().backward()
        return heard, a.grad

    def only(inputs: str) -> Any:
        names: list[str] = []
        a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
        m, k = a * b, b * 2
        for name, t in (("a", a), ("b", b), ("m", m), ("k", k)):
            t.register_hook(lambda grad, name=name: names.append(name))
        (m * k).sum().backward(inputs=[{"a": a, "b": b, "m": m}[inputs]])
        return sorted(names)

    return attempts(
        """
        told("all")
        told("any")
        inside()
        only("a")
        only("b")
        only("m")
        register((leaf,), print, mode="x")
        register((leaf.detach(),), print)
    """,
        {
            "told": told,
            "inside": inside,
            "register": register,
            "leaf": torch.ones(1, requires_grad=True),
            "only": only,
        },
    )


@TENSOR
def batch_norm_for_vmap(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(
        nn.BatchNorm1d(2),
        nn.Sequential(nn.SyncBatchNorm(2), nn.Linear(2, 2)),
        nn.InstanceNorm1d(2, track_running_stats=True),
    )
    same = torch.func.replace_all_batch_norm_modules_(model) is model
    return (
        same,
        list(model.state_dict()),
        str(model[0]),
        attempt(lambda: model[0].eval()(torch.arange(6.0).view(3, 2))),
    )


@TENSOR
def gradients_lie_as_their_leaves_do(torch: Any) -> Any:
    found = []
    for leaf in (
        torch.ones(3, 4).t(),
        torch.ones(3, 8)[:, ::2],
        torch.ones(4, 1).expand(4, 4),
        torch.ones(4, 4, 1, 4).permute(2, 3, 0, 1),
        torch.ones(2, 3, 4, 4)[:, :, ::2],
        torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last),
    ):
        for f in (
            torch.exp,
            lambda t: t.cumsum(0),
            lambda t: t.contiguous(),
            lambda t: t[..., 0],
            lambda t: t.mT * t.mT,
        ):
            x = leaf.detach().requires_grad_()
            f(x).sum().backward()
            found.append([s for s, n in zip(x.grad.stride(), x.shape, strict=True) if n > 1])
    return found


@TENSOR
def places_in_a_storage(torch: Any) -> Any:
    """as_strided of parts of a storage, with the part's own layout at another place, often enough for plans."""
    whole = torch.arange(40)
    return [
        torch.as_strided(whole[n : n + 4].view(2, 2), (2, 2), (2, 1), place).flatten().tolist()
        for n in (0, 4, 4, 4, 8, 2, 2)
        for place in (1, 0, 4, 4)
    ]
