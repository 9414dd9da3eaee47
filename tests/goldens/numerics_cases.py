"""Calls of numerical ops: transforms, special functions, quantiles, distances, grids, copies of views.

Expressions over the operands of ops_cases.py; what PyTorch gives is in numerics.json.
"""

from __future__ import annotations

_TRANSFORMS = """
torch.fft.fft(x); torch.fft.fft(c64); torch.fft.fft(x, 4, 0, 'ortho'); torch.fft.ifft(x) * 1; torch.fft.ifft(c64, 2)
torch.fft.rfft(x); torch.fft.rfft(h32, 5, norm='forward'); torch.fft.irfft(x); torch.fft.irfft(c64, 5)
torch.fft.hfft(x); torch.fft.ihfft(x) * 1; torch.fft.fft2(s); torch.fft.ifft2(s, (2, 5)); torch.fft.rfft2(s)
torch.fft.irfft2(s, (2, 5)); torch.fft.hfft2(s); torch.fft.ihfft2(s); torch.fft.fftn(s, dim=(0, 2))
torch.fft.rfftn(s); torch.fft.irfftn(s, norm='ortho'); torch.fft.hfftn(s, (2, 4)); torch.fft.ihfftn(s, dim=0) * 1
torch.fft.fftshift(x); torch.fft.ifftshift(x, 1); torch.fft.fftfreq(5, 0.5); torch.fft.rfftfreq(6)
torch.fft.fft(i); torch.stft(signal[0], 4, window=u.detach(), return_complex=True)
torch.stft(signal[0], 4, 2, window=u.detach(), normalized=True, onesided=False, return_complex=True)
torch.istft(torch.stft(signal[0], 4, return_complex=True), 4, window=u.detach() + 2, length=7)
"""

_SPECIAL = """
torch.special.i0e(x); torch.special.i1e(x); torch.special.i1(x); torch.special.erfcx(x); torch.special.ndtr(x)
torch.special.ndtri(p); torch.special.log_ndtr(x); torch.special.entr(p); torch.special.xlog1py(x, p)
torch.special.zeta(p.detach() + 1, p); torch.polygamma(2, p); p.polygamma(1); torch.mvlgamma(p + 1, 2)
torch.igamma(p.detach(), p + 1); torch.special.gammaincc(p.detach() * 9, p * 8); torch.special.airy_ai(x * 4)
torch.special.bessel_j0(x * 3); torch.special.bessel_j1(h32 * 9); torch.special.bessel_y0(h32 + 4)
torch.special.bessel_y1(p); torch.special.modified_bessel_k0(p); torch.special.modified_bessel_k1(p * 5)
torch.special.scaled_modified_bessel_k0(p * 9); torch.special.scaled_modified_bessel_k1(p)
torch.special.modified_bessel_i0(x); torch.special.spherical_bessel_j0(x); torch.special.chebyshev_polynomial_t(x, 9)
torch.special.chebyshev_polynomial_u(x, 3); torch.special.chebyshev_polynomial_v(x, i); torch.special.chebyshev_polynomial_w(p, 12)
torch.special.shifted_chebyshev_polynomial_t(p, 5); torch.special.hermite_polynomial_h(x, 4)
torch.special.hermite_polynomial_he(x, i); torch.special.laguerre_polynomial_l(x, 5); torch.special.legendre_polynomial_p(x, i)
"""

_SAMPLES = """
torch.quantile(x, 0.3); torch.quantile(x, v.detach().sigmoid(), 1); torch.quantile(x, 0.6, 0, True, interpolation='midpoint')
torch.nanquantile(torch.log(x), 0.5, 1); torch.nanmean(torch.log(x), 1); torch.cov(x); torch.cov(z, correction=0, aweights=v.detach().abs())
torch.corrcoef(z); torch.cdist(x, w); torch.cdist(x, w, 1.0); torch.cdist(x, w, 3.0); torch.cdist(x, w, float('inf'))
F.pdist(w); torch.trapezoid(s, dim=1); torch.trapz(x, v.detach()); torch.cumulative_trapezoid(x, dx=0.5)
torch.gradient(x); torch.gradient(s, spacing=0.5, dim=(1, 2), edge_order=2); torch.gradient(w, spacing=(u.detach(),), dim=0)
torch.histogram(h32, 3); torch.histogram(h32, 2, range=(-1.0, 1.0), density=True); torch.histogramdd(h32, [2, 2, 2])
torch.ldexp(x, i); torch.frexp(x); torch.isreal(c64); torch.fill(x, 2.5); torch.fill(i, 7)
torch.atleast_1d(o); torch.atleast_2d(o, v); torch.atleast_3d(x)
F.grid_sample(image, w.sigmoid()[None, :, :2].reshape(1, 2, 2, 2), align_corners=False)
F.grid_sample(image, w[None, :, :2].reshape(1, 2, 2, 2), 'bicubic', 'reflection', True)
F.grid_sample(image, w[None, :, :2].reshape(1, 2, 2, 2), 'nearest', 'border', True)
F.grid_sample(volume, w.reshape(1, 2, 2, 1, 3), padding_mode='border', align_corners=True)
F.affine_grid(x[None], (1, 1, 2, 3), align_corners=False)
"""

_COPIES = """
torch.permute_copy(s, (2, 0, 1)); torch.transpose_copy(x, 0, 1); torch.t_copy(x); torch.expand_copy(x[:1], (2, 3))
torch.squeeze_copy(image); torch.unsqueeze_copy(x, 0); torch.diagonal_copy(z, 1); torch.unfold_copy(u, 0, 2, 1)
torch.select_copy(x, 0, 1); torch.slice_copy(u, 0, 1, 3); torch.split_copy(x, 2, 1); torch.unbind_copy(x)
torch.split_with_sizes_copy(x, (1, 2), 1); torch.view_copy(x, (3, 2)); torch.alias_copy(x); torch.narrow_copy(x, 1, 0, 2)
torch.as_strided_copy(x, (2, 2), (1, 2), 1); torch.view_as_real_copy(c64); torch.detach_copy(h32)
torch.unsafe_split(x, 2, 1); torch.unsafe_chunk(x, 2); torch.unsafe_split_with_sizes(x, (1, 2), 1)
"""


def cases() -> list[str]:
    """All expressions."""
    texts = (_TRANSFORMS, _SPECIAL, _SAMPLES, _COPIES)
    return [c.strip() for text in texts for line in text.splitlines() for c in line.split(";") if c.strip()]
