"""torch-rechub: recommenders of clicks, of sequences and of several tasks; torchfm: factorization machines.

Each net is trained, then compiled and traced, and compared with itself.
"""

import warnings

import numpy as np
import torch
from torch_rechub.basic.features import DenseFeature, SequenceFeature, SparseFeature
from torch_rechub.basic.initializers import RandomNormal
from torch_rechub.models.multi_task import MMOE, PLE, SharedBottom
from torch_rechub.models.ranking import DCN, DIN, EDCN, AutoInt, DeepFM, FiBiNet, WideDeep
from torchfm.model.afi import AutomaticFeatureInteractionModel
from torchfm.model.afm import AttentionalFactorizationMachineModel
from torchfm.model.dcn import DeepCrossNetworkModel
from torchfm.model.ffm import FieldAwareFactorizationMachineModel
from torchfm.model.nfm import NeuralFactorizationMachineModel
from torchfm.model.pnn import ProductNeuralNetworkModel
from torchfm.model.xdfm import ExtremeDeepFactorizationMachineModel

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
count = 40
fields = torch.tensor(np.stack([rng.integers(0, n, count) for n in (5, 7, 3)], 1))
clicks = torch.tensor(rng.integers(0, 2, count).astype("float32"))


def trained(name, net, given, target, steps=4):
    """Trains a net, says its losses, and whether it does the same compiled and traced."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
    losses = []
    for _ in range(steps):
        loss = torch.nn.functional.binary_cross_entropy(net(given), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(f"{loss.item():.5f}")
    net.eval()
    with torch.no_grad():
        wanted = net(given)
        compiled = torch.compile(net, backend="eager")
        same = [torch.allclose(compiled(given), wanted) for _ in range(3)]
        if torch.is_tensor(given):
            traced = torch.jit.trace(net, (given,))
            exported = torch.export.export(net, (given,)).module()
            same += [torch.allclose(traced(given), wanted), torch.allclose(exported(given), wanted)]
    print(name, *losses, f"{wanted.double().std().item():.5f}", all(same))


torch.manual_seed(0)
sizes = [5, 7, 3]
for net in (
    AutomaticFeatureInteractionModel(sizes, 4, 8, 2, 2, (8,), (0.0, 0.0, 0.0)),
    AttentionalFactorizationMachineModel(sizes, 4, 4, (0.0, 0.0)),
    DeepCrossNetworkModel(sizes, 4, 2, (8,), 0.1),
    FieldAwareFactorizationMachineModel(sizes, 4),
    NeuralFactorizationMachineModel(sizes, 4, (8,), (0.0, 0.1)),
    ProductNeuralNetworkModel(sizes, 4, (8,), 0.0, method="inner"),
    ProductNeuralNetworkModel(sizes, 4, (8,), 0.0, method="outer"),
    ExtremeDeepFactorizationMachineModel(sizes, 4, (8,), 0.0, (6, 6), split_half=False),
):
    trained(type(net).__name__, net, fields, clicks)

columns = {"user": fields[:, 0], "item": fields[:, 1], "shop": fields[:, 2]}
columns["age"] = torch.tensor(rng.random(count).astype("float32"))
columns["past"] = torch.tensor(rng.integers(0, 7, (count, 4)))


def features():
    """New features: their embeddings belong to one net.

    The default embeddings have a deviation of 1e-4: a batch norm after them would magnify rounding by 300.
    """
    names = zip(("user", "item", "shop"), sizes)
    sparse = [SparseFeature(name, n, 4, initializer=RandomNormal(0, 0.5)) for name, n in names]
    past = SequenceFeature("past", 7, 4, pooling="concat", shared_with="item")
    return sparse, [DenseFeature("age")], past


mlp = {"dims": [8], "dropout": 0.0, "activation": "relu"}
for make in (
    lambda s, d, p: WideDeep(d, s, mlp),
    lambda s, d, p: DeepFM(d + s, s, mlp),
    lambda s, d, p: DCN(d + s, 2, mlp),
    lambda s, d, p: EDCN(s, 2, mlp),
    lambda s, d, p: FiBiNet(s, mlp, bilinear_type="field_interaction"),
    lambda s, d, p: AutoInt(s, d, num_layers=1, num_heads=2, mlp_params=mlp),
    lambda s, d, p: DIN(s, [p], [s[1]], {"dims": [8]}, attention_mlp_params={"dims": [6]}),
):
    torch.manual_seed(1)
    sparse, dense, past = features()
    net = make(sparse, dense, past)
    trained(type(net).__name__, net, columns, clicks)

both = torch.stack([clicks, 1 - clicks], 1)
for make in (
    lambda f: SharedBottom(f, ["classification"] * 2, {"dims": [8]}, [{"dims": [4]}] * 2),
    lambda f: MMOE(f, ["classification"] * 2, 3, {"dims": [8]}, [{"dims": [4]}] * 2),
    lambda f: PLE(f, ["classification"] * 2, 1, 2, 1, {"dims": [8]}, [{"dims": [4]}] * 2),
):
    torch.manual_seed(2)
    sparse, dense, past = features()
    net = make(sparse + dense)
    trained(type(net).__name__, net, columns, both)
