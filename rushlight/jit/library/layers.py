"""Methods of torch.nn's modules, as TorchScript: a class here stands for the class of its name."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor
from rushlight.jit import annotate
from rushlight.nn import functional as F


class Linear:
    def forward(self, input: Tensor):
        return torch.linear(input, self.weight, self.bias)


class Conv1d:
    def forward(self, input: Tensor):
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None):
        if self.padding_mode != "zeros":
            input = torch.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            return torch.conv1d(input, weight, bias, self.stride, [0], self.dilation, self.groups)
        return torch.conv1d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d:
    def forward(self, input: Tensor):
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None):
        if self.padding_mode != "zeros":
            input = torch.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            return torch.conv2d(input, weight, bias, self.stride, [0, 0], self.dilation, self.groups)
        return torch.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv3d:
    def forward(self, input: Tensor):
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None):
        if self.padding_mode != "zeros":
            input = torch.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            return torch.conv3d(input, weight, bias, self.stride, [0, 0, 0], self.dilation, self.groups)
        return torch.conv3d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class _ConvTransposeNd:
    def _extra(self, input: Tensor, output_size: list[int] | None) -> list[int]:
        extra = annotate(list[int], [])
        if output_size is None:
            for p in self.output_padding:
                extra.append(p)
            return extra
        dims = len(self.kernel_size)
        leading = input.dim() - dims
        sizes = output_size[leading:] if len(output_size) == leading + dims else output_size
        strides, paddings = annotate(list[int], list(self.stride)), annotate(list[int], list(self.padding))
        dilations, kernel = (
            annotate(list[int], list(self.dilation)),
            annotate(list[int], list(self.kernel_size)),
        )
        for d in range(dims):
            least = (
                (input.size(leading + d) - 1) * strides[d]
                - 2 * paddings[d]
                + dilations[d] * (kernel[d] - 1)
                + 1
            )
            if sizes[d] < least or sizes[d] > least + strides[d] - 1:
                raise ValueError(f"requested an output size of {output_size}, which is not possible")
            extra.append(sizes[d] - least)
        return extra


class ConvTranspose1d:
    def forward(self, input: Tensor, output_size: list[int] | None = None):
        extra = self._extra(input, output_size)
        return torch.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose2d:
    def forward(self, input: Tensor, output_size: list[int] | None = None):
        extra = self._extra(input, output_size)
        return torch.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose3d:
    def forward(self, input: Tensor, output_size: list[int] | None = None):
        extra = self._extra(input, output_size)
        return torch.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class BatchNorm1d:
    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d:
    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d:
    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class _BatchNorm:
    def forward(self, input: Tensor):
        self._check_input_dim(input)
        factor = 0.0
        if self.momentum is not None:
            factor = self.momentum
        if self.track_running_stats:
            if self.training:
                self.num_batches_tracked.add_(1)
                if self.momentum is None:
                    factor = 1.0 / float(self.num_batches_tracked)
            return F.batch_norm(
                input,
                self.running_mean,
                self.running_var,
                self.weight,
                self.bias,
                self.training,
                factor,
                self.eps,
            )
        if self.training or self.running_mean is None:
            return F.batch_norm(input, None, None, self.weight, self.bias, True, factor, self.eps)
        return F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, False, factor, self.eps
        )


class _InstanceNorm:
    def _normalised(self, input: Tensor):
        stats = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, stats, momentum, self.eps
        )


class InstanceNorm1d:
    def forward(self, input: Tensor):
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")
        return (
            self._normalised(input.unsqueeze(0)).squeeze(0) if input.dim() == 2 else self._normalised(input)
        )


class InstanceNorm2d:
    def forward(self, input: Tensor):
        if input.dim() != 3 and input.dim() != 4:
            raise ValueError(f"expected 3D or 4D input (got {input.dim()}D input)")
        return (
            self._normalised(input.unsqueeze(0)).squeeze(0) if input.dim() == 3 else self._normalised(input)
        )


class InstanceNorm3d:
    def forward(self, input: Tensor):
        if input.dim() != 4 and input.dim() != 5:
            raise ValueError(f"expected 4D or 5D input (got {input.dim()}D input)")
        return (
            self._normalised(input.unsqueeze(0)).squeeze(0) if input.dim() == 4 else self._normalised(input)
        )


class LayerNorm:
    def forward(self, input: Tensor):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class Sequential:
    def forward(self, input: Tensor):
        for module in self:
            input = module(input)
        return input


class Identity:
    def forward(self, input: Tensor):
        return input


class Flatten:
    def forward(self, input: Tensor):
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten:
    def forward(self, input: Tensor):
        return input.unflatten(self.dim, self.unflattened_size)


class Embedding:
    def forward(self, input: Tensor):
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )


class Upsample:
    def forward(self, input: Tensor):
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )


class _ConstantPadNd:
    def forward(self, input: Tensor):
        return F.pad(input, self.padding, "constant", self.value)


class _ReflectionPadNd:
    def forward(self, input: Tensor):
        return F.pad(input, self.padding, "reflect")


class _ReplicationPadNd:
    def forward(self, input: Tensor):
        return F.pad(input, self.padding, "replicate")


class _CircularPadNd:
    def forward(self, input: Tensor):
        return F.pad(input, self.padding, "circular")
