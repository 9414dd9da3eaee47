"""torcheval: metrics and their merging."""

import warnings

import torch
import torcheval.metrics.functional as FF
from torcheval.metrics import (
    BinaryAUPRC,
    BinaryAUROC,
    BinaryPrecisionRecallCurve,
    HitRate,
    Mean,
    MeanSquaredError,
    MulticlassAccuracy,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
    PeakSignalNoiseRatio,
    R2Score,
)

warnings.filterwarnings("ignore")
torch.manual_seed(0)

g = torch.Generator().manual_seed(1)
x = torch.rand(20, 4, generator=g)
y = torch.randint(0, 4, (20,), generator=g)
b = torch.rand(20, generator=g)
t = torch.randint(0, 2, (20,), generator=g)
for M, a in (
    (MulticlassAccuracy(average="macro", num_classes=4), (x, y)),
    (BinaryAUROC(), (b, t)),
    (MulticlassF1Score(num_classes=4), (x, y)),
    (MeanSquaredError(), (b, t.float())),
    (R2Score(), (b, t.float())),
    (BinaryPrecisionRecallCurve(), (b, t)),
    (MulticlassConfusionMatrix(4), (x, y)),
    (PeakSignalNoiseRatio(), (x, x * 0.9)),
    (Mean(), (b,)),
    (BinaryAUPRC(), (b, t)),
    (HitRate(), (x, y)),
):
    M.update(*a)
    M.update(*a)
    print(type(M).__name__, M.compute())
m1, m2 = BinaryAUROC(), BinaryAUROC()
m1.update(b, t)
m2.update(1 - b, t)
m1.merge_state([m2])
print(m1.compute(), list(m1.state_dict()))
print(
    FF.binary_normalized_entropy(b, t.float()),
    FF.multilabel_accuracy(x, (x > 0.4).long()),
    FF.multiclass_precision_recall_curve(x, y, num_classes=4)[0][0],
    FF.bleu_score(["the cat sat on mat"], [["the cat sat on the mat"]], n_gram=2),
    FF.perplexity(torch.rand(1, 4, 5, generator=g), torch.tensor([[1, 2, 3, 4]])),
)
