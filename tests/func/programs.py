"""Programs as PyTorch's tutorials write them: each gets the package and answers with arrays."""

from __future__ import annotations


def _leaves(value):
    if isinstance(value, dict):
        return [t for v in value.values() for t in _leaves(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _leaves(v)]
    return [value]


def _cnn(torch):
    class SimpleCNN(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(1, 4, 3, 1)
            self.conv2 = torch.nn.Conv2d(4, 6, 3, 1)
            self.fc1 = torch.nn.Linear(96, 16)
            self.fc2 = torch.nn.Linear(16, 10)

        def forward(self, x):
            x = torch.nn.functional.relu(self.conv1(x))
            x = torch.nn.functional.relu(self.conv2(x))
            x = torch.nn.functional.max_pool2d(x, 2)
            x = torch.flatten(x, 1)
            x = torch.nn.functional.relu(self.fc1(x))
            return torch.nn.functional.log_softmax(self.fc2(x), dim=1)

    return SimpleCNN()


def _mlp(torch):
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))


def per_sample_gradients(torch):
    torch.manual_seed(0)
    model = _cnn(torch)
    data, targets = torch.randn(6, 1, 12, 12), torch.randint(10, (6,))
    params = {k: v.detach() for k, v in model.named_parameters()}
    buffers = {k: v.detach() for k, v in model.named_buffers()}

    def compute_loss(params, buffers, sample, target):
        predictions = torch.func.functional_call(model, (params, buffers), (sample.unsqueeze(0),))
        return torch.nn.functional.nll_loss(predictions, target.unsqueeze(0))

    each = torch.func.vmap(torch.func.grad(compute_loss), in_dims=(None, None, 0, 0))
    return _leaves(each(params, buffers, data, targets))


def per_sample_gradients_by_hand(torch):
    """The same by a loop."""
    torch.manual_seed(0)
    model = _cnn(torch)
    data, targets = torch.randn(6, 1, 12, 12), torch.randint(10, (6,))
    rows = []
    for i in range(6):
        loss = torch.nn.functional.nll_loss(model(data[i].unsqueeze(0)), targets[i].unsqueeze(0))
        rows.append(torch.autograd.grad(loss, list(model.parameters())))
    return [torch.stack(column) for column in zip(*rows)]


def ensembling(torch):
    torch.manual_seed(0)
    models = [_mlp(torch) for _ in range(4)]
    params, buffers = torch.func.stack_module_state(models)
    base = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)).to("meta")

    def fmodel(params, buffers, x):
        return torch.func.functional_call(base, (params, buffers), (x,))

    many, one = torch.randn(4, 7, 5), torch.randn(7, 5)
    return [
        torch.vmap(fmodel)(params, buffers, many),
        torch.vmap(fmodel, in_dims=(0, 0, None))(params, buffers, one),
        torch.stack([m(x) for m, x in zip(models, many)]),
    ]


def hessian_of_a_model(torch):
    torch.manual_seed(0)
    model = _mlp(torch)
    params, x = dict(model.named_parameters()), torch.randn(4, 5)

    def loss(params):
        return torch.func.functional_call(model, params, (x,)).pow(2).sum()

    return _leaves(torch.func.hessian(loss)({k: v.detach() for k, v in params.items()}))


def jacobians(torch):
    torch.manual_seed(0)
    weight, bias, x = torch.randn(3, 4), torch.randn(3), torch.randn(4)
    batch, tangent = torch.randn(5, 4), torch.randn(4)
    func = torch.func

    def predict(weight, bias, x):
        return torch.nn.functional.linear(x, weight, bias).tanh()

    by_hand = torch.stack([torch.autograd.functional.jacobian(lambda x: predict(weight, bias, x), x)])
    found = [
        by_hand,
        *func.jacrev(predict, argnums=(0, 1, 2))(weight, bias, x),
        func.jacfwd(predict, argnums=2)(weight, bias, x),
        func.jacrev(predict, argnums=2, chunk_size=2)(weight, bias, x),
    ]
    found.append(func.vmap(func.jacrev(predict, argnums=2), in_dims=(None, None, 0))(weight, bias, batch))
    found.append(func.vmap(func.hessian(lambda x: predict(weight, bias, x).sum()))(batch))
    found.append(func.jacrev(func.jacfwd(lambda x: predict(weight, bias, x)))(x))
    out, pull = func.vjp(lambda x: predict(weight, bias, x), x)
    found += [out, *pull(torch.ones(3)), func.jvp(lambda x: predict(weight, bias, x), (x,), (tangent,))[1]]
    hvp = func.jvp(func.grad(lambda x: predict(weight, bias, x).sum()), (x,), (tangent,))[1]
    return [*found, hvp, func.vmap(func.vmap(lambda a, b: a * b, (None, 0)), (0, None))(x, tangent)]


def maml(torch):
    torch.manual_seed(0)
    params = {name: t.detach() for name, t in _mlp_of_one(torch).named_parameters()}
    net = _mlp_of_one(torch)
    x1, y1, x2, y2 = (torch.randn(3, 6, 1) for _ in range(4))
    losses = []

    def inner(params, x1, y1, x2, y2):
        def loss(params, x, y):
            return torch.nn.functional.mse_loss(torch.func.functional_call(net, params, (x,)), y)

        for _ in range(2):
            grads = torch.func.grad(loss)(params, x1, y1)
            params = {k: params[k] - 0.1 * grads[k] for k in params}
        return loss(params, x2, y2)

    def outer(params):
        return torch.func.vmap(inner, in_dims=(None, 0, 0, 0, 0))(params, x1, y1, x2, y2).mean()

    for _ in range(3):
        grads, value = torch.func.grad_and_value(outer)(params)
        params = {k: params[k] - 0.05 * grads[k] for k in params}
        losses.append(value)
    return [*losses, *_leaves(params)]


def _mlp_of_one(torch):
    return torch.nn.Sequential(torch.nn.Linear(1, 6), torch.nn.ReLU(), torch.nn.Linear(6, 1))


def neural_tangent_kernel(torch):
    torch.manual_seed(0)
    model = _mlp(torch)
    params = {k: v.detach() for k, v in model.named_parameters()}
    x1, x2 = torch.randn(3, 5), torch.randn(2, 5)

    def single(params, x):
        return torch.func.functional_call(model, params, (x.unsqueeze(0),)).squeeze(0)

    one, two = (torch.func.vmap(torch.func.jacrev(single), (None, 0))(params, x) for x in (x1, x2))
    pairs = [(a.flatten(2), b.flatten(2)) for a, b in zip(_leaves(one), _leaves(two))]
    return [sum(torch.einsum("Naf,Mbf->NMab", a, b) for a, b in pairs)]


def batched_attention(torch):
    torch.manual_seed(0)
    x = torch.randn(4, 6, 8)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).eval()

    def one(x):
        return layer(x.unsqueeze(0)).squeeze(0)

    return [torch.vmap(one)(x), torch.vmap(torch.func.grad(lambda x: one(x).pow(2).sum()))(x)]


def forward_mode(torch):
    from importlib import import_module

    fw = import_module(f"{torch.__name__}.autograd.forward_ad")
    torch.manual_seed(0)
    model, x = _mlp(torch), torch.randn(2, 5)
    tangents = {name: torch.rand_like(p) for name, p in model.named_parameters()}
    found = []
    with fw.dual_level():
        dual = fw.make_dual(x, torch.ones_like(x))
        found += list(fw.unpack_dual(model(dual).softmax(1)))
        params = {name: fw.make_dual(p.detach(), tangents[name]) for name, p in model.named_parameters()}
        found.append(fw.unpack_dual(torch.func.functional_call(model, params, (x,))).tangent)
        buffer = torch.zeros(2, 5)
        buffer[0] = dual[1] * 2
        found.append(fw.unpack_dual(buffer.cumsum(1)).tangent)
    return found


PROGRAMS = [
    per_sample_gradients,
    ensembling,
    hessian_of_a_model,
    jacobians,
    maml,
    neural_tangent_kernel,
    batched_attention,
    forward_mode,
]
