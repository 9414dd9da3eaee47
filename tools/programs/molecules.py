"""torchani: environments of atoms, and forces."""

import warnings

import torch
from torchani.aev import AEVComputer

warnings.filterwarnings("ignore")
torch.manual_seed(0)

aev = AEVComputer.like_1x()
sp = torch.tensor([[1, 0, 0, 0, 0]])
xyz = torch.tensor(
    [
        [
            [0.03192167, 0.00638559, 0.01301679],
            [-0.83140486, 0.39370209, -0.26395324],
            [-0.66518241, -0.84461308, 0.20759389],
            [0.45554739, 0.54289633, 0.81170881],
            [0.66091919, -0.16799635, -0.91037834],
        ]
    ],
    requires_grad=True,
)
r = aev(sp, xyz)
r = r if isinstance(r, torch.Tensor) else r[1]
print(r.shape, r.sum(), r.norm())
r.square().sum().backward()
print(xyz.grad)
