"""Programs whose products torch.utils.flop_counter counts, for any torch; from each: what to run."""


def programs(torch):
    """By name."""
    nn, F, r = torch.nn, torch.nn.functional, torch.randn
    attend = F.scaled_dot_product_attention

    def g(*sizes):
        return r(*sizes, requires_grad=True)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 16)
            self.b = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4, bias=False))

        def forward(self, x):
            return self.b(self.a(x).relu())

    def double():
        x = g(3, 4)
        (grad,) = torch.autograd.grad(((x @ x.T) ** 2).sum(), x, create_graph=True)
        grad.sum().backward()

    net, heads, batched = Net(), nn.MultiheadAttention(8, 2), nn.MultiheadAttention(8, 2, batch_first=True)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    lstm, gru, rnn, cell = nn.LSTM(4, 5, 2), nn.GRU(4, 5), nn.RNN(4, 5), nn.LSTMCell(4, 5)
    return {
        "mlp": lambda: net(r(3, 8)).sum().backward(),
        "mlp nograd": lambda: net(r(3, 8).detach()),
        "mlp xgrad": lambda: net(g(3, 8)).sum().backward(),
        "linear3d": lambda: net(r(2, 3, 8)).sum().backward(),
        "linear1d": lambda: net(r(8)).sum().backward(),
        "linear4d x": lambda: net(g(2, 2, 3, 8)).sum().backward(),
        "linear noncontig": lambda: net(g(2, 8, 3).transpose(1, 2)).sum().backward(),
        "mm": lambda: (g(3, 4) @ g(4, 5)).sum().backward(),
        "mm half": lambda: (g(3, 4) @ r(4, 5)).sum().backward(),
        "mv": lambda: (g(3, 4) @ g(4)).sum().backward(),
        "vm": lambda: (g(3) @ g(3, 4)).sum().backward(),
        "dot": lambda: (g(3) @ g(3)).backward(),
        "3d2d": lambda: (g(2, 3, 4) @ g(4, 5)).sum().backward(),
        "3d2d no": lambda: r(2, 3, 4) @ r(4, 5),
        "3d2d nc": lambda: r(2, 4, 3).transpose(1, 2) @ r(4, 5),
        "2d3d": lambda: (g(3, 4) @ g(2, 4, 5)).sum().backward(),
        "2d3d no": lambda: r(3, 4) @ r(2, 4, 5),
        "3d1d": lambda: (g(2, 3, 4) @ g(4)).sum().backward(),
        "1d3d": lambda: (g(4) @ g(2, 4, 3)).sum().backward(),
        "3d3d": lambda: (g(2, 3, 4) @ g(2, 4, 5)).sum().backward(),
        "4d bc": lambda: (g(2, 1, 3, 4) @ g(5, 4, 5)).sum().backward(),
        "bmm": lambda: torch.bmm(g(2, 3, 4), g(2, 4, 5)).sum().backward(),
        "addmm": lambda: torch.addmm(g(3, 5), g(3, 4), g(4, 5)).sum().backward(),
        "baddbmm": lambda: torch.baddbmm(g(2, 3, 5), g(2, 3, 4), g(2, 4, 5)).sum().backward(),
        "addbmm": lambda: torch.addbmm(g(3, 5), g(2, 3, 4), g(2, 4, 5)).sum().backward(),
        "addmv": lambda: torch.addmv(g(3), g(3, 4), g(4)).sum().backward(),
        "outer": lambda: torch.outer(g(3), g(4)).sum().backward(),
        "einsum": lambda: torch.einsum("bij,bjk->bik", g(2, 3, 4), g(2, 4, 5)).sum().backward(),
        "einsum2": lambda: torch.einsum("bhqd,bhkd->bhqk", g(2, 3, 4, 5), g(2, 3, 6, 5)).sum().backward(),
        "einsum3": lambda: torch.einsum("ij,jk,kl->il", g(2, 3), g(3, 4), g(4, 5)).sum().backward(),
        "einsum4": lambda: torch.einsum("i,j->ij", g(2), g(3)).sum().backward(),
        "einsum5": lambda: torch.einsum("ij->ji", g(2, 3)).sum().backward(),
        "tensordot": lambda: torch.tensordot(g(2, 3, 4), g(4, 3, 5), dims=([1, 2], [1, 0])).sum().backward(),
        "bilinear": lambda: F.bilinear(g(2, 3), g(2, 4), g(5, 3, 4)).sum().backward(),
        "inner": lambda: torch.inner(g(2, 3), g(4, 3)).sum().backward(),
        "conv1": lambda: F.conv1d(g(2, 3, 8), g(4, 3, 3), g(4)).sum().backward(),
        "conv2": lambda: F.conv2d(g(2, 3, 8, 8), g(4, 3, 3, 3), None, 2, 1).sum().backward(),
        "conv2 nox": lambda: F.conv2d(r(2, 3, 8, 8), g(4, 3, 3, 3), None, 2, 1).sum().backward(),
        "conv2 now": lambda: F.conv2d(g(2, 3, 8, 8), r(4, 3, 3, 3), None, 2, 1).sum().backward(),
        "conv2 unb": lambda: F.conv2d(g(3, 8, 8), g(4, 3, 3, 3)).sum().backward(),
        "conv2 dil": lambda: F.conv2d(g(2, 4, 8, 8), g(4, 4, 3, 3), g(4), 1, 2, 2).sum().backward(),
        "conv2 same": lambda: F.conv2d(g(2, 4, 8, 8), g(4, 4, 2, 2), g(4), padding="same").sum().backward(),
        "conv2 grp": lambda: F.conv2d(g(2, 4, 8, 8), g(8, 2, 3, 3), g(8), 1, 1, 1, 2).sum().backward(),
        "conv2 dw": lambda: F.conv2d(g(2, 4, 8, 8), g(4, 1, 3, 3), g(4), 1, 1, 1, 4).sum().backward(),
        "conv3": lambda: F.conv3d(g(1, 2, 5, 5, 5), g(3, 2, 2, 2, 2)).sum().backward(),
        "convt": lambda: F.conv_transpose2d(g(2, 3, 5, 5), g(3, 4, 3, 3), g(4), 2).sum().backward(),
        "convt grp": lambda: (
            F.conv_transpose2d(g(2, 4, 5, 5), g(4, 3, 3, 3), None, 2, 1, 1, 2).sum().backward()
        ),
        "sdpa": lambda: attend(g(2, 3, 4, 8), g(2, 3, 5, 8), g(2, 3, 5, 8)).sum().backward(),
        "sdpa causal": lambda: attend(*[g(2, 3, 4, 8)] * 3, is_causal=True).sum().backward(),
        "sdpa mask": lambda: (
            attend(g(2, 3, 4, 8), g(2, 3, 5, 8), g(2, 3, 5, 8), r(4, 5) < 9).sum().backward()
        ),
        "sdpa drop": lambda: attend(g(2, 3, 4, 8), g(2, 3, 5, 8), g(2, 3, 5, 8), None, 0.5).sum().backward(),
        "sdpa 3d": lambda: attend(g(2, 4, 8), g(2, 5, 8), g(2, 5, 8)).sum().backward(),
        "sdpa v": lambda: attend(g(2, 3, 4, 8), g(2, 3, 5, 8), g(2, 3, 5, 6)).sum().backward(),
        "sdpa nograd": lambda: attend(r(2, 3, 4, 8), r(2, 3, 5, 8), r(2, 3, 5, 8)),
        "sdpa gqa": lambda: attend(r(2, 4, 4, 8), r(2, 2, 5, 8), r(2, 2, 5, 8), enable_gqa=True),
        "sdpa bf16": lambda: attend(*[g(2, 3, 4, 8).bfloat16()] * 3).sum().backward(),
        "mha": lambda: heads(*[r(5, 3, 8)] * 3)[0].sum().backward(),
        "mha kv": lambda: heads(r(5, 3, 8), r(4, 3, 8), r(4, 3, 8), need_weights=False)[0].sum().backward(),
        "mhab self": lambda: batched(*[r(3, 5, 8)] * 3, need_weights=False)[0].sum().backward(),
        "enc": lambda: layer(r(3, 5, 8)).sum().backward(),
        "lstm": lambda: lstm(r(3, 2, 4))[0].sum().backward(),
        "lstm nograd": lambda: torch.no_grad()(lambda: lstm(r(3, 2, 4)))(),
        "gru": lambda: gru(r(3, 2, 4))[0].sum().backward(),
        "rnn": lambda: rnn(r(3, 2, 4))[0].sum().backward(),
        "cell": lambda: cell(r(2, 4))[0].sum().backward(),
        "double": double,
        "cdist": lambda: torch.cdist(g(30, 3), g(40, 3)).sum().backward(),
        "solve": lambda: torch.linalg.solve(g(3, 3), g(3, 2)).sum().backward(),
        "inv": lambda: torch.linalg.inv(torch.eye(3, requires_grad=True) + 0).sum().backward(),
        "matrix_power": lambda: torch.linalg.matrix_power(g(3, 3), 5).sum().backward(),
        "chain": lambda: torch.linalg.multi_dot([g(2, 3), g(3, 4), g(4, 5)]).sum().backward(),
        "kron": lambda: torch.kron(g(2, 3), g(3, 4)).sum().backward(),
        "emb": lambda: F.embedding(torch.tensor([0, 1]), g(3, 4)).sum().backward(),
        "int": lambda: torch.ones(2, 3, dtype=torch.int64) @ torch.ones(3, 4, dtype=torch.int64),
        "cplx": lambda: (g(2, 3) * 1j @ (g(3, 2) * 1j)).abs().sum().backward(),
        "ckpt": lambda: torch.utils.checkpoint.checkpoint(net, g(3, 8), use_reentrant=False).sum().backward(),
        "vmap": lambda: torch.func.vmap(lambda a, b: a @ b)(r(2, 3, 4), r(2, 4, 5)),
    }


def counted(torch):
    """What each program counts as, by module and op."""
    found = {}
    for name, run in programs(torch).items():
        torch.manual_seed(0)
        with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
            run()
        found[name] = {
            module: {str(op): flops for op, flops in counts.items()}
            for module, counts in counter.get_flop_counts().items()
        }
    return found
