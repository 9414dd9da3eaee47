"""pytorch-fid and torch-fidelity: the layers and the scores."""

import numpy as np
import torch
from pytorch_fid.fid_score import calculate_frechet_distance
from pytorch_fid.inception import FIDInceptionA, FIDInceptionE_1, FIDInceptionE_2
from torch_fidelity.interpolate_compat_tensorflow import interpolate_bilinear_2d_like_tensorflow1x
from torch_fidelity.metric_fid import fid_features_to_statistics, fid_statistics_to_metric
from torch_fidelity.metric_isc import isc_features_to_metric
from torch_fidelity.metric_kid import kid_features_to_metric
from torch_fidelity.metric_prc import prc_features_to_metric

torch.manual_seed(0)
a, e1, e2 = FIDInceptionA(16, 8), FIDInceptionE_1(32), FIDInceptionE_2(32)
x = torch.randn(1, 16, 12, 12)
print(a.eval()(x).abs().sum())
y = torch.randn(1, 32, 8, 8)
print(e1.eval()(y).abs().sum(), e2.eval()(y).abs().sum())
r = np.random.RandomState(0)
A, B = r.randn(200, 16), r.randn(200, 16) * 1.3 + 0.2
print(calculate_frechet_distance(A.mean(0), np.cov(A, rowvar=False), B.mean(0), np.cov(B, rowvar=False)))

f1, f2 = torch.randn(150, 24), torch.randn(150, 24) * 1.2
print(isc_features_to_metric(torch.randn(100, 10), splits=5, shuffle=True, rng_seed=1))
print(fid_statistics_to_metric(fid_features_to_statistics(f1), fid_features_to_statistics(f2), verbose=False))
print(kid_features_to_metric(f1, f2, kid_subsets=10, kid_subset_size=50, verbose=False, rng_seed=3))
print(prc_features_to_metric(f1, f2, prc_neighborhood=3, prc_batch_size=50, verbose=False))
x = torch.rand(1, 3, 10, 12, requires_grad=True)
for ac in (True, False):
    o = interpolate_bilinear_2d_like_tensorflow1x(x, (15, 17), align_corners=ac)
    g = torch.autograd.grad(o.pow(2).sum(), x)[0]
    print(o.sum(), g.abs().sum())
