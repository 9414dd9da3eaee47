"""sbi: posteriors of simulators by three methods."""

import logging
import warnings

import torch
from sbi.inference import NLE, NPE, NRE
from sbi.utils import BoxUniform

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
torch.manual_seed(0)
prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
theta = prior.sample((120,))
x = theta + 0.3 * torch.randn_like(theta)
for kind, model in ((NPE, "maf"), (NPE, "mdn"), (NLE, "maf"), (NRE, "mlp")):
    torch.manual_seed(1)
    inference = kind(
        prior,
        **({"classifier": model} if kind is NRE else {"density_estimator": model}),
        show_progress_bars=False,
    )
    estimator = inference.append_simulations(theta, x).train(max_num_epochs=3, training_batch_size=40)
    print(
        kind.__name__,
        model,
        f"{sum(float(p.double().abs().sum()) for p in estimator.parameters()):.4f}",
        [f"{v:.4f}" for v in inference.summary["validation_loss"]],
    )
    if kind is NPE:
        posterior = inference.build_posterior(estimator)
        torch.manual_seed(2)
        s = posterior.sample((10,), x=torch.zeros(1, 2), show_progress_bars=False)
        print(f"{s.sum().item():.3f} {posterior.log_prob(s, x=torch.zeros(1, 2)).sum().item():.3f}")
