"""torchkbnufft: non-uniform Fourier transforms with Kaiser-Bessel kernels, and torch-dct's cosine transforms."""

import torch
import torch_dct
import torchkbnufft as tkbn

image = torch.randn(1, 1, 16, 16, dtype=torch.complex64)
trajectory = (torch.rand(2, 60) - 0.5) * 2 * torch.pi
forward, adjoint = tkbn.KbNufft(im_size=(16, 16)), tkbn.KbNufftAdjoint(im_size=(16, 16))
data = forward(image, trajectory)
print(data.shape, data.abs().sum(), data.sum())
back = adjoint(data, trajectory)
print(back.shape, back.abs().sum())
print(tkbn.calc_density_compensation_function(ktraj=trajectory, im_size=(16, 16)).abs().sum())
tables = tkbn.calc_tensor_spmatrix(trajectory, im_size=(16, 16))
print(forward(image, trajectory, tables).abs().sum(), adjoint(data, trajectory, tables).abs().sum())
toeplitz = tkbn.ToepNufft()
kernel = tkbn.calc_toeplitz_kernel(trajectory, im_size=(16, 16))
print(toeplitz(image, kernel).abs().sum())
maps = torch.randn(1, 4, 16, 16, dtype=torch.complex64)
print(forward(image, trajectory, smaps=maps).abs().sum())
leaf = image.clone().requires_grad_()
forward(leaf, trajectory).abs().square().sum().backward()
print(leaf.grad.abs().sum())

x = torch.randn(3, 8, 8, requires_grad=True)
for name in ("dct", "idct", "dct_2d", "idct_2d", "dct_3d", "idct_3d", "dct1", "idct1"):
    found = getattr(torch_dct, name)(x)
    print(name, found.sum(), found.square().sum())
    print(torch.autograd.grad(found.square().sum(), x)[0].abs().sum())
print(torch_dct.LinearDCT(8, "dct")(x).sum())
