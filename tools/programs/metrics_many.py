"""torchmetrics: classification, regression, images, text, aggregation."""

import torch
import torchmetrics as tm
import torchmetrics.functional as F

torch.manual_seed(0)
p, t = torch.randn(40, 5).softmax(-1), torch.randint(0, 5, (40,))
for metric in (
    tm.Accuracy("multiclass", num_classes=5),
    tm.F1Score("multiclass", num_classes=5, average="macro"),
    tm.AUROC("multiclass", num_classes=5),
    tm.ConfusionMatrix("multiclass", num_classes=5),
    tm.CalibrationError("multiclass", num_classes=5),
    tm.MatthewsCorrCoef("multiclass", num_classes=5),
    tm.AveragePrecision("multiclass", num_classes=5),
    tm.CohenKappa("multiclass", num_classes=5),
    tm.Specificity("multiclass", num_classes=5),
    tm.JaccardIndex("multiclass", num_classes=5),
):
    metric.update(p[:20], t[:20])
    metric.update(p[20:], t[20:])
    print(type(metric).__name__, metric.compute())
a, b = torch.randn(30), torch.randn(30)
for metric in (
    tm.MeanSquaredError(),
    tm.MeanAbsoluteError(),
    tm.R2Score(),
    tm.PearsonCorrCoef(),
    tm.SpearmanCorrCoef(),
    tm.ExplainedVariance(),
    tm.CosineSimilarity(),
    tm.KendallRankCorrCoef(),
    tm.ConcordanceCorrCoef(),
):
    print(
        type(metric).__name__,
        metric(a, b) if "Cosine" not in type(metric).__name__ else metric(a[None], b[None]),
    )
x, y = torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32)
for f in (
    F.structural_similarity_index_measure,
    F.peak_signal_noise_ratio,
    F.universal_image_quality_index,
    F.error_relative_global_dimensionless_synthesis,
    F.spectral_angle_mapper,
    F.total_variation,
):
    print(f.__name__, f(x, y) if f is not F.total_variation else f(x))
print(F.word_error_rate(["a b c"], ["a b d"]), F.char_error_rate(["abc"], ["abd"]))
print(
    F.pairwise_cosine_similarity(torch.randn(3, 4)).sum(),
    F.pairwise_euclidean_distance(torch.randn(3, 4)).sum(),
)
c = tm.MetricCollection({"mean": tm.MeanMetric(), "max": tm.MaxMetric(), "cat": tm.CatMetric()})
for v in (1.0, 3.0, 2.0):
    c.update(v)
print(c.compute())
tracker = tm.MetricTracker(tm.MeanSquaredError(), maximize=False)
for k in range(3):
    tracker.increment()
    tracker.update(a * k, b)
print(
    tracker.best_metric(return_step=True),
    tm.BootStrapper(tm.MeanMetric(), num_bootstraps=3).metrics.__len__(),
)
print(
    F.retrieval_average_precision(torch.rand(8), torch.randint(0, 2, (8,)).bool()), F.signal_noise_ratio(a, b)
)
print(tm.text.Perplexity()(torch.randn(2, 4, 6), torch.randint(0, 6, (2, 4))))
