"""crnn.pytorch: the network, its labels and CTC, four steps."""

import collections
import collections.abc

import torch

collections.Iterable = collections.abc.Iterable  # where the program's Python had it
import utils  # noqa: E402
from models.crnn import CRNN  # noqa: E402

labels = utils.strLabelConverter("0123456789abcdefghijklmnopqrstuvwxyz")
net, loss_of = CRNN(32, 1, 37, 32), torch.nn.CTCLoss(zero_infinity=True)
opt, mean = torch.optim.SGD(net.parameters(), 1e-3), utils.averager()
images = torch.randn(4, 1, 32, 100)
text, length = labels.encode(["hello", "a1", "00zz", "tensor"])
for _ in range(4):
    scores = net(images)
    loss = loss_of(scores.log_softmax(2), text, torch.IntTensor([scores.size(0)] * 4), length)
    opt.zero_grad()
    loss.backward()
    opt.step()
    mean.add(loss)
    print(f"{loss.item():.5f}")
best = scores.argmax(2).transpose(1, 0).reshape(-1)
print(labels.decode(best, torch.IntTensor([scores.size(0)] * 4), raw=True), f"{mean.val():.4f}")
