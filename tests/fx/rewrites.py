"""Graphs rewritten by replace_pattern, for any torch: the texts of the results and what was matched."""


def rewrites(torch):
    """By name: [code, names of the matched nodes]."""
    fx, nn = torch.fx, torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.other = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU())
            self.w = nn.Parameter(torch.ones(4))

        def forward(self, x, y):
            a = torch.relu(self.linear(x)) + y
            b = torch.relu(self.linear(a)) + x
            c = torch.cat([a, b]) * 2
            return torch.cat([c, c * 3]), self.other(b), (self.w + x).neg()

    class Pattern(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x, y):
            return torch.relu(self.linear(x)) + y

    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.zeros(4))
            self.new = nn.GELU()

        def forward(self, x):
            return self.new(self.w + x)

    traced = fx.symbolic_trace
    cases = {
        "cat": (lambda a, b: torch.cat([a, b]), lambda a, b: torch.stack([b, a])),
        "chain": (traced(Pattern()), lambda x, y: torch.sub(x, y)),
        "module": (traced(Weighted2(torch)), traced(Weighted())),
        "literal": (lambda x: x * 2, lambda x: x + x),
        "absent": (lambda x: torch.sigmoid(x), lambda x: x),
        "used outside": (lambda x, y: torch.cat([x + y, y]), lambda x, y: x),
        "two results": (lambda x: (x.neg(), x * 3), lambda x: (x.abs(), x - 3)),
        "adds": (lambda x, y: x + y, lambda x, y: x - y),
        "no input": (lambda x: torch.relu(x), lambda x: torch.relu(torch.relu(x))),
    }
    found = {}
    for name, (pattern, replacement) in cases.items():
        gm = traced(Net())
        found[name] = told(gm, fx.replace_pattern(gm, pattern, replacement))
    rewriter = fx.subgraph_rewriter
    gm = traced(Net())
    found["filters"] = told(
        gm,
        rewriter.replace_pattern_with_filters(
            gm,
            lambda x, y: x + y,
            lambda x, y: x - y,
            [lambda match, graph, pattern: "w" not in str(match.nodes_map)],
        ),
    )
    gm = traced(Net())
    found["literals"] = told(
        gm,
        rewriter.replace_pattern_with_filters(gm, lambda x: x * 7, lambda x: x.exp(), ignore_literals=True),
    )
    gm = traced(Net())
    found["callback"] = told(
        gm,
        rewriter.replace_pattern_with_filters(
            gm,
            lambda x, y: x + y,
            replacement_callback=lambda match, graph, pattern: traced(lambda x, y: y).graph,
        ),
    )
    return found


def Weighted2(torch):
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.v = torch.nn.Parameter(torch.zeros(4))

        def forward(self, x):
            return (self.v + x).neg()

    return Module()


def told(gm, matches):
    names = [
        [
            m.anchor.name,
            {k.name: getattr(v, "name", v) for k, v in m.nodes_map.items()},
            [n.name for n in getattr(m, "replacements", ())],
        ]
        for m in matches
    ]
    return [gm.code, names, sorted(gm.state_dict())]
