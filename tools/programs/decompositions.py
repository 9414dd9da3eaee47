"""tensorly, tensorly-torch and tntorch: tensors as sums of products."""

import warnings

import numpy as np
import tensorly as tl
import tltorch
import tntorch as tn
import torch
from tensorly.decomposition import (
    non_negative_parafac,
    non_negative_tucker,
    parafac,
    robust_pca,
    tensor_train,
    tucker,
)
from tensorly.regression import CPRegressor

warnings.filterwarnings("ignore")
tl.set_backend("pytorch")
torch.manual_seed(0)

x = tl.tensor(np.random.RandomState(0).rand(4, 5, 6))
f = parafac(x, rank=3, random_state=0, n_iter_max=20)
print(tl.norm(tl.cp_to_tensor(f) - x))
c, fs = tucker(x, rank=[2, 3, 3], random_state=0)
print(tl.norm(c), tl.norm(tl.tucker_to_tensor((c, fs)) - x))
t = tensor_train(x, rank=[1, 3, 3, 1])
print(tl.norm(tl.tt_to_tensor(t) - x))
f = non_negative_parafac(x, rank=3, random_state=0, n_iter_max=20)
print(tl.norm(tl.cp_to_tensor(f) - x))
f = non_negative_tucker(x, rank=[2, 2, 2], random_state=0, n_iter_max=20)
print(tl.norm(f[0]))
lo, sp = robust_pca(x, n_iter_max=10)
print(tl.norm(lo), tl.norm(sp))
print(
    tl.tenalg.khatri_rao([x[0], x[1][:, :6]]).sum(),
    tl.tenalg.multi_mode_dot(x, [torch.rand(2, 4, dtype=torch.float64)], modes=[0]).shape,
    tl.unfold(x, 1).sum(),
    tl.svd_interface(x[0], n_eigenvecs=2)[1],
)

X = tl.tensor(np.random.RandomState(1).rand(20, 4, 5))
y = tl.tensor(np.random.RandomState(2).rand(20))
r = CPRegressor(weight_rank=2, tol=1e-5, n_iter_max=10, reg_W=1, verbose=0, random_state=0)
r.fit(X, y)
print(tl.norm(r.predict(X)))

ft = tltorch.FactorizedTensor.new((4, 5, 6), rank=3, factorization="CP")
ft.normal_(0, 0.1)
print(ft.to_tensor().shape, ft[0].shape, ft)

t = tn.Tensor(torch.rand(8, 8, 8, generator=torch.Generator().manual_seed(0)), ranks_tt=3)
print(t, tn.norm(t), tn.mean(t), (t + t).torch().sum(), tn.dot(t, t))
g = tn.cross(function=lambda x, y: torch.sin(x + y), domain=[torch.linspace(0, 1, 16)] * 2, verbose=False)
print(g.torch().sum())
