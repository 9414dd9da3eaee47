"""deepinv: physics, priors and iterations of inverse problems."""

import warnings

import deepinv as dinv
import torch

warnings.filterwarnings("ignore")
torch.manual_seed(0)

x = torch.rand(1, 1, 16, 16)
for p in (
    dinv.physics.Inpainting((1, 16, 16), mask=0.5, noise_model=dinv.physics.GaussianNoise(0.05)),
    dinv.physics.Downsampling(img_size=(1, 16, 16), factor=2, filter="bicubic"),
    dinv.physics.BlurFFT(img_size=(1, 16, 16), filter=dinv.physics.blur.gaussian_blur(sigma=(1, 1))),
    dinv.physics.Blur(filter=dinv.physics.blur.gaussian_blur(sigma=(1, 1)), padding="circular"),
    dinv.physics.Tomography(angles=8, img_width=16),
    dinv.physics.CompressedSensing(m=40, img_size=(1, 16, 16)),
    dinv.physics.MRI(img_size=(2, 16, 16)),
):
    xx = torch.rand(1, 2, 16, 16) if isinstance(p, dinv.physics.MRI) else x
    y = p(xx)
    print(
        type(p).__name__,
        y.shape,
        y.sum(),
        p.A_adjoint(y).sum(),
        p.adjointness_test(xx).abs() < 1e-3,
        # Of this one it is conjugate gradients that stop by a tolerance.
        "" if type(p) is dinv.physics.Blur else p.A_dagger(y).sum(),
    )
prior = dinv.optim.prior.TVPrior(n_it_max=20)
print(prior.prox(x, gamma=0.1).sum(), prior(x))
p = dinv.physics.BlurFFT(img_size=(1, 16, 16), filter=dinv.physics.blur.gaussian_blur(sigma=(1, 1)))
y = p(x)
m = dinv.optim.optim_builder(
    iteration="PGD",
    prior=dinv.optim.prior.L1Prior(),
    data_fidelity=dinv.optim.data_fidelity.L2(),
    max_iter=10,
    params_algo={"stepsize": 1.0, "lambda": 0.01},
)
print(m(y, p).sum())
m = dinv.optim.optim_builder(
    iteration="ADMM",
    prior=prior,
    data_fidelity=dinv.optim.data_fidelity.L2(),
    max_iter=4,
    params_algo={"stepsize": 1.0, "lambda": 0.01},
)
print(m(y, p).sum())
net = dinv.models.UNet(1, 1, scales=2)
print(net(x).sum())
d = dinv.models.DnCNN(1, 1, depth=4, nf=8, pretrained=None)
print(d(x, 0.1).sum())
print(
    dinv.models.TVDenoiser(n_it_max=10)(x, 0.1).sum(),
    dinv.models.WaveletDenoiser()(x, 0.1).sum() if True else "",
    dinv.models.MedianFilter()(x).sum(),
)
print(dinv.metric.PSNR()(x, x + 0.1), dinv.metric.SSIM()(x, (x + 0.1).clamp(0, 1)))
