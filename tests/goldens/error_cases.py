"""Mistakes, as expressions: each raises the same type in PyTorch and here, with these key words.

A line is `expression  #  key words`; the type is PyTorch's, recorded in errors.json.
"""

from __future__ import annotations

import copy
import io
from typing import Any

CASES = """
x + torch.ones(2, 4)  #  The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1
x.add_(torch.ones(4, 2, 3))  #  output with shape [2, 3] doesn't match the broadcast shape [4, 2, 3]
x @ x  #  mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)
torch.mm(x, v)  #  mat2 must be a matrix
torch.mm(v, x)  #  self must be a matrix
torch.bmm(x, x)  #  batch1 must be a 3D tensor
torch.bmm(b3, torch.ones(3, 3, 4))  #  Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [3, 3]
torch.mv(x, torch.ones(2))  #  size mismatch, got input (2), mat (2x3), vec (2)
torch.dot(v, x)  #  1D tensors expected, but got 1D and 2D tensors
torch.dot(v, torch.ones(4))  #  inconsistent tensor size, expected tensor [3] and src [4] to have the same number of elements
v @ torch.tensor(2.0)  #  both arguments to matmul need to be at least 1D
torch.addmm(x, x, x)  #  cannot be multiplied
F.linear(x, torch.ones(4, 5))  #  mat1 and mat2 shapes cannot be multiplied (2x3 and 5x4)
torch.einsum('ij,jk', x, x)  #  does not broadcast
torch.einsum('ij', v)  #  einsum
torch.outer(x, v)  #  Expected 1-D
torch.matmul(x, i.t())  #  to have the same dtype
torch.mm(x, x.t().double())  #  expected m1 and m2 to have the same dtype, but got: float != double
x.view(4)  #  shape '[4]' is invalid for input of size 6
x.view(-1, 4)  #  shape '[-1, 4]' is invalid for input of size 6
x.view(-1, -1)  #  only one dimension can be inferred
x.t().view(6)  #  view size is not compatible with input tensor's size and stride
x.reshape(5)  #  shape '[5]' is invalid for input of size 6
x.expand(2, 4)  #  The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension 1
x.expand(3)  #  the number of sizes provided (1) must be greater or equal to the number of dimensions in the tensor (2)
x.permute(0)  #  permute(sparse_coo): number of dimensions in the tensor input does not match
x.permute(0, 0)  #  permute(): duplicate dims are not allowed
x.permute(0, 5)  #  Dimension out of range
x.transpose(0, 2)  #  Dimension out of range (expected to be in range of [-2, 1], but got 2)
b3.t()  #  t() expects a tensor with <= 2 dimensions, but self is 3D
x.squeeze(2)  #  Dimension out of range
x.unsqueeze(4)  #  Dimension out of range (expected to be in range of [-3, 2], but got 4)
x.flatten(1, 0)  #  flatten() has invalid args: start_dim cannot come after end_dim
x.unflatten(1, (2, 2))  #  unflatten: Provided sizes [2, 2] don't multiply up to the size of dim 1 (3)
x.narrow(1, 2, 2)  #  start (2) + length (2) exceeds dimension size (3)
x.select(0, 2)  #  index 2 out of range for tensor of size [2, 3] at dimension 0
x.unfold(1, 4, 1)  #  maximum size for tensor at dimension 1 is 3 but size is 4
x.as_strided((3, 3), (3, 1))  #  out of bounds for storage
x.diagonal(0, 0, 0)  #  diagonal dimensions cannot be identical
v.diagonal()  #  Dimension out of range
x.movedim((0, 1), (0,))  #  Invalid source or destination dims
x.repeat(2)  #  Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor
x.split(-1)  #  split expects split_size be non-negative
x.split([1, 1, 1])  #  split_with_sizes expects split_sizes to sum exactly to 2
x.chunk(0)  #  chunk expects `chunks` to be greater than 0
torch.cat([])  #  expected a non-empty list of Tensors
torch.cat([x, v])  #  Tensors must have same number of dimensions: got 2 and 1
torch.cat([x, torch.ones(2, 4)])  #  Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4
torch.cat([x, 1])  #  expected Tensor as element 1
torch.cat(x)  #  cat
torch.stack([x, v])  #  stack expects each tensor to be equal size, but got [2, 3] at entry 0 and [3] at entry 1
torch.stack([])  #  stack expects a non-empty TensorList
torch.broadcast_tensors(x, torch.ones(4))  #  must match the size
torch.broadcast_shapes((2, 3), (4,))  #  Attempting to broadcast
x.sum(2)  #  Dimension out of range (expected to be in range of [-2, 1], but got 2)
x.sum((0, 0))  #  dim 0 appears multiple times in the list of dims
x.mean(dim='a')  #
x.max(3)  #  Dimension out of range
x.argmax(5)  #  Dimension out of range
torch.empty(0).max()  #  Expected reduction dim to be specified for input.numel() == 0
torch.empty(0, 2).max(0)  #  Expected reduction dim 0 to have non-zero size
torch.empty(0).argmax()  #  Expected reduction dim to be specified for input.numel() == 0
i.mean()  #  could not infer output dtype. Input dtype must be either a floating point or complex dtype
i.std()  #  std and var only support floating point and complex dtypes
x.sort(2)  #  Dimension out of range
x.topk(4)  #  selected index k out of range
x.kthvalue(7)  #  selected number k out of range for dimension 1
x.cumsum(4)  #  Dimension out of range
x.softmax(3)  #  Dimension out of range
x.norm(dim=4)  #  Dimension out of range
x[5]  #  index 5 is out of bounds for dimension 0 with size 2
x[0, 0, 0]  #  too many indices for tensor of dimension 2
x['a']  #
x[1.5]  #
x[torch.tensor([0.5])]  #  tensors used as indices must be long, int, byte or bool tensors
x[torch.tensor([5])]  #  index 5 is out of bounds for dimension 0 with size 2
x[torch.ones(3, dtype=torch.bool)]  #  The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [2, 3] at index 0
x[[0, 1], [0, 1, 2]]  #  shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]
x[::-1]  #  step must be greater than zero
torch.tensor(3.0)[0]  #  invalid index of a 0-dim tensor
put(x, 0, torch.ones(4))  #  The expanded size of the tensor (3) must match the existing size (4)
put(x, 9, 1)  #  index 9 is out of bounds
put(x, 0, 'a')  #
x.gather(1, torch.tensor([[5]]))  #  index 5 is out of bounds for dimension 1 with size 3
x.gather(1, torch.tensor([0]))  #  Index tensor must have the same number of dimensions as input tensor
x.gather(1, torch.tensor([[0.0]]))  #  Expected dtype int32/int64 for index
x.scatter(1, torch.tensor([[7]]), 1.0)  #  index 7 is out of bounds for dimension 1 with size 3
x.index_select(0, torch.tensor([4]))  #  out of range
x.masked_fill(torch.ones(2, 3), 0.0)  #  masked_fill
x.masked_select(x)  #  expected BoolTensor
torch.where(x, x, x)  #  where expected condition to be a boolean tensor
torch.take(x, torch.tensor([9]))  #  out of range
len(torch.tensor(1))  #  len() of a 0-d tensor
iter(torch.tensor(1))  #  iteration over a 0-d tensor
x.item()  #  a Tensor with 6 elements cannot be converted to Scalar
float(x)  #
int(torch.ones(2))  #
bool(x)  #  Boolean value of Tensor with more than one value is ambiguous
bool(torch.empty(0))  #  Boolean value of Tensor with no values is ambiguous
range(x)  #
torch.tensor([[1, 2], [3]])  #  expected sequence of length 2 at dim 1 (got 1)
torch.tensor('abc')  #
torch.tensor([1, 'a'])  #
torch.tensor(None)  #  Could not infer dtype of NoneType
torch.tensor(object())  #  Could not infer dtype of object
torch.tensor(300, dtype=torch.uint8) + torch.tensor([1, 2], dtype='int')  #
torch.zeros(-1)  #  Dimension size must be non-negative
torch.zeros(2, dtype='float32')  #
torch.zeros('a')  #
torch.zeros(2, device='nowhere')  #  Expected one of cpu
torch.zeros(2, wrong=1)  #
torch.ones(2.5)  #
torch.arange(0, 5, 0)  #  step must be nonzero
torch.arange(5, 0)  #  upper bound and lower bound inconsistent with step sign
torch.linspace(0, 1, -1)  #  number of steps must be non-negative
torch.eye(-1)  #  n must be greater or equal to 0, got -1
torch.full((2,), 'a')  #
torch.from_numpy([1])  #  expected np.ndarray (got list)
torch.from_numpy(np.array(['a']))  #  can't convert np.ndarray of type
torch.from_numpy(np.arange(3)[::-1])  #  negative
torch.randint(5, 5, (2,))  #  random_ expects 'from' to be less than 'to', but got from=5 >= to=5
torch.randperm(-1)  #
torch.normal(0.0, -1.0, (2,))  #  normal expects std >= 0.0, but found std -1
torch.bernoulli(torch.tensor([2.0]))  #  Expected p_in >= 0 && p_in <= 1
torch.multinomial(torch.tensor([-1.0, 2.0]), 1)  #  probability tensor contains either `inf`, `nan` or element < 0
torch.multinomial(torch.tensor([1.0, 2.0]), 3)  #  cannot sample n_sample > prob_dist.size(-1) samples without replacement
x.uniform_(2, 1)  #  uniform_ expects to return a [from, to) range
torch.manual_seed('a')  #
torch.Generator(device='nowhere')  #  Expected one of cpu
torch.device('nowhere')  #  Expected one of cpu
torch.device('cpu:x')  #
x.to('nowhere')  #  Expected one of cpu
x.add(1, 2, 3, 4)  #
x.nothing  #  object has no attribute 'nothing'
torch.nothing  #  has no attribute 'nothing'
torch.add(x)  #
torch.add(x, 'a')  #
torch.sin()  #
torch.sin(3)  #  argument 'input' (position 1) must be Tensor, not int
torch.relu([1])  #  must be Tensor, not list
x + 'a'  #
x + None  #
x ** 'a'  #
x < 'a'  #
x & x  #  "bitwise_and_cpu" not implemented for 'Float'
x << 1.5 << x.bool()  #
-m  #  Negation, the `-` operator, on a bool tensor is not supported
m - m  #  Subtraction, the `-` operator, with two bool tensors is not supported
i ** -1  #  Integers to negative integer powers are not allowed
i.add_(1.5)  #  result type Float can't be cast to the desired output type Long
i.div_(2)  #  result type Float can't be cast to the desired output type Long
m.add_(i)  #
torch.add(x, x, out=torch.empty(2, 3, dtype=torch.int64))  #  result type Float can't be cast to the desired output type Long
torch.div(x, 2, rounding_mode='up')  #  div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'
torch.floor(c)  #  floor is not supported for complex inputs
c < c  #  "lt_cpu" not implemented for 'ComplexFloat'
c.max()  #  not implemented for 'ComplexFloat'
c.clamp(0)  #  clamp is not supported for complex types
torch.clamp(x)  #  At least one of 'min' or 'max' must not be None
F.gelu(i)  #  "GeluKernelImpl" not implemented for 'Long'
F.gelu(x, approximate='x')  #  approximate argument must be either none or tanh
F.softmax(i, 0)  #  not implemented for 'Long'
F.leaky_relu(c)  #  "leaky_relu_cpu" not implemented for 'ComplexFloat'
F.elu(i)  #  "elu_cpu" not implemented for 'Long'
F.layer_norm(x, (4,))  #  Given normalized_shape=[4], expected input with shape [*, 4], but got input of size[2, 3]
F.layer_norm(x, ())  #  Expected normalized_shape to be at least 1-dimensional
F.group_norm(b3, 3)  #  Expected number of channels in input to be divisible by num_groups
F.batch_norm(torch.ones(1, 3), None, None, training=True)  #  Expected more than 1 value per channel when training
F.batch_norm(b3, torch.zeros(3), torch.ones(3))  #  running_mean should contain 4 elements not 3
F.dropout(x, 1.5)  #  dropout probability has to be between 0 and 1, but got 1.5
F.glu(v)  #  Halving dimension must be even, but dimension 0 is size 3
F.embedding(torch.tensor([9]), x)  #  index out of range in self
F.embedding(torch.tensor([0.5]), x)  #
F.one_hot(torch.tensor([-1]))  #  Class values must be non-negative
F.one_hot(torch.tensor([5]), 3)  #  Class values must be smaller than num_classes
F.conv2d(x, x)  #
F.conv2d(torch.ones(1, 3, 5, 5), torch.ones(2, 4, 3, 3))  #  Given groups=1, weight of size [2, 4, 3, 3], expected input[1, 3, 5, 5] to have 4 channels, but got 3 channels instead
F.conv2d(torch.ones(1, 3, 2, 2), torch.ones(2, 3, 3, 3))  #  Kernel size can't be greater than actual input size
F.conv2d(torch.ones(1, 3, 5, 5), torch.ones(2, 3, 3, 3), stride=0)  #  non-positive stride is not supported
F.conv2d(torch.ones(1, 3, 5, 5), torch.ones(2, 3, 3, 3), padding='what')  #  padding
F.conv1d(torch.ones(1, 3, 5), torch.ones(2, 3, 3), torch.ones(3))  #  expected bias
F.max_pool2d(v, 2)  #
F.max_pool2d(torch.ones(1, 1, 2, 2), 3)  #  Output size is too small
F.max_pool2d(torch.ones(1, 1, 4, 4), 2, padding=2)  #  pad should be at most half of effective kernel size
F.avg_pool2d(torch.ones(1, 1, 4, 4), 0)  #
F.pad(x, (1,))  #  Padding length must be divisible by 2
F.pad(x, (1, 1), mode='odd')  #
F.pad(b3, (5, 1), mode='reflect')  #  Padding size should be less than the corresponding input dimension
F.interpolate(x, size=2)  #
F.interpolate(b3, size=2, scale_factor=2)  #  only one of size or scale_factor should be defined
F.interpolate(b3)  #  either size or scale_factor should be defined
F.interpolate(b3, size=2, mode='what')  #
F.mse_loss(i, i)  #  not implemented for 'Long'
F.mse_loss(x, x, reduction='some')  #  some is not a valid value for reduction
F.cross_entropy(x, torch.tensor([0]))  #  Expected input batch_size (2) to match target batch_size (1)
F.cross_entropy(x, torch.tensor([0, 3]))  #  Target 3 is out of bounds
F.cross_entropy(x, torch.tensor([0, 1], dtype=torch.int32))  #
F.nll_loss(x, torch.tensor([0, -5]))  #  Target -5 is out of bounds
F.nll_loss(x, torch.tensor([0.0, 1.0]))  #
F.cross_entropy(x, torch.tensor([0, 1]), weight=torch.ones(2))  #  weight tensor should be defined either for all 3 classes or no classes
F.cross_entropy(x, torch.tensor([0, 1]), label_smoothing=2.0)  #  label_smoothing must be between 0.0 and 1.0
F.binary_cross_entropy(x + 5, x)  #  all elements of input should be between 0 and 1
F.binary_cross_entropy(torch.full((2,), 0.5), torch.ones(3))  #  Using a target size (torch.Size([3])) that is different to the input size (torch.Size([2])) is deprecated
F.binary_cross_entropy_with_logits(x, v)  #  Target size (torch.Size([3])) must be the same as input size (torch.Size([2, 3]))
F.kl_div(x, torch.ones(4))  #  must match
F.scaled_dot_product_attention(x, x, v)  #
F.scaled_dot_product_attention(b3, b3, b3, attn_mask=torch.ones(4, 4, dtype=torch.bool), is_causal=True)  #  Explicit attn_mask should not be set when is_causal=True
F.normalize(x, dim=5)  #  Dimension out of range
F.cosine_similarity(x, torch.ones(4))  #
F.linear(x, x, torch.ones(5))  #
nn.Linear(3, 2)(torch.ones(2, 4))  #  mat1 and mat2 shapes cannot be multiplied (2x4 and 3x2)
nn.Linear(3, 2)(x.double())  #  mat1 and mat2 must have the same dtype, but got Double and Float
nn.Linear(-1, 2)  #
nn.Linear('a', 2)  #
nn.Linear(3)  #  missing 1 required positional argument: 'out_features'
nn.Linear(3, 2, wrong=1)  #  unexpected keyword argument 'wrong'
nn.Linear(3, 2)()  #
nn.Linear(3, 2)(3)  #  must be Tensor, not int
nn.Linear(3, 2).wrong  #  'Linear' object has no attribute 'wrong'
nn.Module()(x)  #  is missing the required "forward" function
nn.Conv2d(3, 4, 3, groups=2)  #  in_channels must be divisible by groups
nn.Conv2d(3, 4, 3, padding_mode='odd')  #  padding_mode must be one of
nn.Conv2d(3, 4, 3, padding='full')  #  Invalid padding string
nn.Conv2d(3, 4, 3)(x)  #  Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [2, 3]
nn.BatchNorm1d(3)(torch.ones(1, 2, 3, 4))  #  expected 2D or 3D input (got 4D input)
nn.BatchNorm2d(3)(x)  #  expected 4D input (got 2D input)
nn.BatchNorm1d(4)(x)  #  running_mean should contain 3 elements not 4
nn.LayerNorm(4)(x)  #  Given normalized_shape=[4]
nn.Dropout(2)  #  dropout probability has to be between 0 and 1, but got 2
nn.Embedding(3, 2)(torch.tensor([3]))  #  index out of range in self
nn.Embedding(3, 2, padding_idx=3)  #  Padding_idx must be within num_embeddings
nn.LSTM(3, 4)(torch.ones(2, 2))  #  input.size(-1) must be equal to input_size. Expected 3, got 2
nn.LSTM(3, 4)(torch.ones(2))  #  LSTM: Expected input to be 2D or 3D, got 1D
nn.GRU(3, 4)(x, torch.ones(1, 5))  #
nn.RNN(3, 4, nonlinearity='what')  #  Unknown nonlinearity 'what'
nn.MultiheadAttention(3, 2)  #  embed_dim must be divisible by num_heads
nn.Sequential(3)  #  is not a Module subclass
nn.Sequential(nn.ReLU())[3]  #  index 3 is out of range
nn.ModuleList([3])  #  is not a Module subclass
nn.ModuleDict({'a': 3})  #  is not a Module subclass
nn.ParameterList([nn.ReLU()])[0](3)  #
nn.Parameter(3)  #
nn.Linear(2, 2).register_parameter('a.b', None)  #  t contain "."
nn.Linear(2, 2).register_parameter('weight', 3)  #
nn.Linear(2, 2).register_buffer('weight', x)  #  attribute 'weight' already exists
nn.Linear(2, 2).register_buffer('b', 3)  #  cannot assign 'int' object to buffer 'b'
nn.Linear(2, 2).add_module('', nn.ReLU())  #  t be empty string
nn.Linear(2, 2).get_submodule('x')  #  has no attribute `x`
nn.Linear(2, 2).load_state_dict({})  #  Missing key(s) in state_dict: "weight", "bias"
nn.Linear(2, 2).load_state_dict(nn.Linear(3, 2).state_dict())  #  size mismatch for weight: copying a param with shape torch.Size([2, 3]) from checkpoint, the shape in current model is torch.Size([2, 2])
nn.Linear(2, 2).load_state_dict({**nn.Linear(2, 2).state_dict(), 'z': x})  #  Unexpected key(s) in state_dict: "z"
nn.Linear(2, 2).load_state_dict(3)  #  Expected state_dict to be dict-like
nn.Linear(2, 2).to(torch.int64)  #  nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64
setattr(nn.Linear(2, 2), 'weight', x)  #  cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)
nn.init.xavier_uniform_(v)  #  Fan in and fan out can not be computed for tensor with fewer than 2 dimensions
nn.init.calculate_gain('what')  #  Unsupported nonlinearity what
nn.utils.clip_grad_norm_(3, 1.0)  #
nn.CrossEntropyLoss(reduction='what')(x, torch.tensor([0, 1]))  #  what is not a valid value for reduction
g.sum().backward(torch.ones(2))  #  Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a shape of torch.Size([])
(g * 2).backward()  #  grad can be implicitly created only for scalar outputs
x.backward()  #  element 0 of tensors does not require grad and does not have a grad_fn
twice((g * g).sum())  #  Trying to backward through the graph a second time
changed(g)  #  one of the variables needed for gradient computation has been modified by an inplace operation
g.add_(1)  #  a leaf Variable that requires grad is being used in an in-place operation
g[0].zero_()  #  a view of a leaf Variable that requires grad is being used in an in-place operation
g.numpy()  #  Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead
(g * 2).requires_grad_(False)  #  you can only change requires_grad flags of leaf variables
i.requires_grad_()  #  only Tensors of floating point dtype can require gradients
torch.tensor([1], requires_grad=True)  #  Only Tensors of floating point and complex dtype can require gradients
torch.autograd.grad(x.sum(), x)  #  does not require grad
torch.autograd.grad(g.sum(), torch.ones(1, requires_grad=True))  #  The differentiated Tensor at index 0 appears to not have been used in the graph
torch.autograd.grad(g * 2, g)  #  grad can be implicitly created only for scalar outputs
copy.deepcopy(g * 2)  #  Only Tensors created explicitly by the user
setattr(g, 'grad', torch.ones(5))  #  attempting to assign a gradient of size '[5]' to a tensor of size '[3]'
setattr(g, 'grad', 3)  #
setattr(g, 'requires_grad', 3)  #
g.register_hook(3) and g.sum().backward()  #
x.register_hook(print)  #  cannot register a hook on a tensor that doesn't require gradient
torch.load(io.BytesIO(b''))  #
torch.load(io.BytesIO(b'no archive at all'))  #
torch.load('/nowhere/at/all')  #  No such file or directory
torch.load(3)  #
torch.save(x, 3)  #  'write' attribute
torch.save(x)  #
torch.set_default_dtype(torch.int64)  #  only floating-point types are supported as the default type
torch.set_default_dtype('float32')  #  invalid dtype object
torch.set_num_threads(0)  #
torch.set_printoptions(profile='what') or torch.tensor(1, dtype=3)  #
torch.finfo(torch.int64)  #  torch.finfo() requires a floating point input type. Use torch.iinfo to handle
torch.iinfo(torch.float32)  #  torch.iinfo() requires an integer input type. Use torch.finfo to handle
x.type('what')  #
torch.linalg.solve(torch.zeros(2, 2), torch.ones(2))  #  The solver failed because the input matrix is singular
torch.linalg.qr(v)  #
torch.linalg.solve(x, v)  #  must be batches of square matrices
torch.linalg.vector_norm(i)  #
torch.tril(v)  #
torch.trace(v)  #
torch.histc(i, 2)  #
torch.bincount(torch.tensor([-1]))  #
torch.bincount(x)  #
torch.nonzero(3)  #
torch.meshgrid(x, x, indexing='ij')  #
torch.tensordot(x, x, 1)  #
torch.roll(x, (1, 2), 0)  #
torch.flip(x, (0, 0))  #  dim 0 appears multiple times in the list of dims
torch.complex(x, x.double())  #
torch.view_as_complex(x)  #  Tensor must have a last dimension of size 2
torch.view_as_real(x)  #
x.view(torch.float64)  #
torch.diff(x, n=-1)  #
torch.vstack([])  #
torch.searchsorted(x, v)  #
torch.bucketize(x, x)  #
torch.utils.data.DataLoader(range(3), batch_size=0)  #  batch_size should be a positive integer value, but got batch_size=0
torch.utils.data.random_split(range(3), [2])  #  Sum of input lengths does not equal the length of the input dataset
torch.optim.SGD([], lr=0.1)  #  optimizer got an empty parameter list
torch.optim.SGD([x * g], lr=0.1)  #  can't optimize a non-leaf Tensor
torch.optim.Adam([g], lr=-1)  #  Invalid learning rate: -1
torch.optim.Adam([g], wrong=1)  #
torch.optim.lr_scheduler.StepLR(3, 1)  #  is not an Optimizer
F.ctc_loss(b3, i.view(-1)[:4], (2, 2, 2), (1, 1))  #  input_lengths must be of size batch_size
F.ctc_loss(b3, i.view(-1)[:4], (3, 2, 2, 2), (1, 1, 1, 1))  #  Expected input_lengths to have value
F.ctc_loss(b3, i.view(-1)[:4], (1, 2, 2, -2), (1, 1, 1, 1))  #  Expected input_lengths to have value
F.ctc_loss(b3, i.view(-1), (1, 2, 2, 2), (1, 1, 1, 1))  #  Expected tensor to have size
F.ctc_loss(b3, i.expand(2, 2, 3).reshape(4, 3)[:, :2], (1, 2, 2, 2), (1, 1, 1, 3))  #  Expected tensor to have size at least 3 at dimension 1, but got size 2
F.ctc_loss(b3.half(), i.view(-1)[:4], (1, 2, 2, 2), (1, 1, 1, 1))  #  "ctc_loss_cpu" not implemented for 'Half'
F.ctc_loss(b3[:0], i.view(-1)[:4], (0, 0, 0, 0), (1, 1, 1, 1))  #  log_probs tensor must not be empty
F.ctc_loss(b3, i.view(-1)[:4], torch.ones(4), (1, 1, 1, 1))  #  ctc_loss()
F.ctc_loss(b3, i[None], (1, 2, 2, 2), (1, 1, 1, 1))  #  argument #2 'targets'
b3.index_reduce(0, i[0, :1], b3[0], 'amax')  #  should be equal to source.size(dim)
v.index_reduce(0, i[0, :1], torch.tensor(1.0), 'prod')  #  source tensor shape must match self tensor shape
v.index_add(0, i[0, :2], torch.tensor(1.0))  #  Dimension specified as 0 but tensor has no dimensions
x.index_add(1, i[0, :0], v)  #  Indexing dim 1 is out of bounds of the source tensor with dim 1
m.index_reduce(0, i[0, :1], m[:1], 'amin')  #  "index_func_" not implemented for 'Bool'
F.batch_norm(b3, torch.ones(4), None, training=True)  #  must either both be None or neither be None
F.batch_norm(b3, torch.ones(4, 1), torch.ones(4))  #  expected 1 dims but tensor has 2
F.batch_norm(b3, None, None, torch.ones(4).double(), training=True)  #  expect parameter to have scalar type of Float
F.batch_norm(i, None, None, training=True)  #  "batch_norm" not implemented for 'Long'
F.instance_norm(b3, bias=torch.ones(3))  #  bias should contain 8 elements not 6
F.layer_norm(b3.double(), (3,), v, v)  #  mixed dtype (CPU): all inputs must share same datatype.
F.group_norm(b3, 2, torch.ones(4), torch.ones(4).half())  #  expected scalar type Float but found Half
torch.masked.prod(x, (0, 0))  #  dim=0 appears multiple times in the list of dims
torch.masked.prod(x, 2)  #  Dimension out of range (expected to be in range of [-2, 1], but got 2)
torch.slice_copy(x, 0, 0, 1, 0)  #  slice step must be positive
torch.cumsum(x, 0, dtype=torch.bool)  #  "cumsum_out_cpu" not implemented for 'Bool'
torch.bmm(b3.bool(), b3.mT.bool())  #  "bmm" not implemented for 'Bool'
torch.dot(m, m)  #  "dot" not implemented for 'Bool'
torch.einsum('ij,kj', m[None], m[None])  #  "bmm" not implemented for 'Bool'
torch.round(i, decimals=1)  #  "round_cpu" not implemented for 'Long'
torch.bucketize(m, m)  #  "searchsorted_out_cpu" not implemented for 'Bool'
torch.unravel_index(v, (2, 2))  #  expected 'indices' to be integer dtype
F.interpolate(b3.long(), scale_factor=2)  #  not implemented for 'Long'
F.pad(b3.bool(), (1, 1), mode='reflect')  #  "reflection_pad1d" not implemented for 'Bool'
F.hardtanh(i.byte())  #  cannot do hardtanh on an unsigned type with negative limits
F.embedding(i, i, max_norm=1.0)  #  norm(): input dtype should be either floating point or complex. Got Long instead.
F.embedding_bag(i, i.repeat(3, 1), mode='max')  #  Half, BFloat16, Float, Double
F.alpha_dropout(i, 0.5, True)  #  can't be cast to the desired output type
F.softmin(m, 0, dtype=torch.float64)  #  Negation, the `-` operator, on a bool tensor is not supported
F.nll_loss(i, i[0, :2])  #  "nll_loss_out_frame" not implemented for 'Long'
F.kl_div(i, i)  #  kl_div: Integral inputs not supported.
torch.matrix_exp(i[:, :2])  #  linalg.matrix_exp: Expected a floating point or complex tensor as input. Got Long
torch.fft.irfft(v.half())  #  Unsupported dtype Half
"""


def cases() -> list[tuple[str, str]]:
    """(expression, key words)."""
    pairs = [line.partition("  #  ") for line in (line + " " for line in CASES.strip().splitlines())]
    return [(text.strip().removesuffix("#").strip(), words.strip()) for text, _, words in pairs]


def namespace(torch: Any) -> dict[str, Any]:
    """Fresh operands for one expression."""
    from importlib import import_module

    import numpy as np

    def put(t: Any, index: Any, value: Any) -> None:
        t[index] = value

    def twice(loss: Any) -> None:
        loss.backward()
        loss.backward()

    def changed(t: Any) -> None:
        a = t.exp()
        b = a * a
        a.add_(1)
        b.sum().backward()

    return {
        "torch": torch,
        "F": import_module(f"{torch.__name__}.nn.functional"),
        "nn": torch.nn,
        "np": np,
        "io": io,
        "copy": copy,
        "put": put,
        "twice": twice,
        "changed": changed,
        "x": torch.arange(6.0).reshape(2, 3),
        "v": torch.ones(3),
        "b3": torch.ones(2, 4, 3),
        "i": torch.arange(6).reshape(2, 3),
        "m": torch.ones(2, dtype=torch.bool),
        "c": torch.ones(2, dtype=torch.complex64),
        "g": torch.ones(3, requires_grad=True),
    }


def raised(torch: Any, text: str) -> tuple[str, str]:
    """The type and text of what an expression raises; ("", "") for nothing."""
    try:
        eval(text, namespace(torch))  # noqa: S307 - our own expressions
    except Exception as error:  # noqa: BLE001 - that is the question
        return type(error).__name__, str(error).replace("rushlight", "torch")
    return "", ""
