"""pykeen: embeddings of a small graph of knowledge, several models, losses and loops."""

import logging

import numpy as np
from pykeen.pipeline import pipeline
from pykeen.triples import TriplesFactory

logging.disable(logging.CRITICAL)
rng = np.random.default_rng(0)
names = np.array([f"e{i}" for i in range(14)])
triples = np.unique(
    np.stack(
        [
            names[rng.integers(0, 14, 90)],
            np.array(["r0", "r1", "r2"])[rng.integers(0, 3, 90)],
            names[rng.integers(0, 14, 90)],
        ],
        1,
    ),
    axis=0,
)
factory = TriplesFactory.from_labeled_triples(triples)
training, testing = factory.split([0.8, 0.2], random_state=0)
for model, loop, loss in (
    ("TransE", "sLCWA", "marginranking"),
    ("DistMult", "sLCWA", "softplus"),
    ("ComplEx", "LCWA", "crossentropy"),
    ("RotatE", "sLCWA", "nssa"),
    ("TransH", "sLCWA", "marginranking"),
    ("HolE", "sLCWA", "marginranking"),
    ("QuatE", "LCWA", "bcewithlogits"),
    ("ERMLP", "LCWA", "bcewithlogits"),
    ("TuckER", "LCWA", "bceaftersigmoid"),
    ("SimplE", "sLCWA", "softplus"),
    ("BoxE", "sLCWA", "nssa"),
    ("PairRE", "sLCWA", "nssa"),
):
    result = pipeline(
        training=training,
        testing=testing,
        model=model,
        model_kwargs={"embedding_dim": 8},
        loss=loss,
        training_loop=loop,
        training_kwargs={"num_epochs": 3, "batch_size": 16, "use_tqdm": False, "use_tqdm_batch": False},
        evaluation_kwargs={"use_tqdm": False},
        evaluator_kwargs={"filtered": True},
        random_seed=5,
        device="cpu",
    )
    scores = result.model.score_hrt(testing.mapped_triples[:4]).flatten().tolist()
    print(model, *(f"{v:.5f}" for v in result.losses), *(f"{v:.4f}" for v in scores))
    print(model, f"{result.get_metric('mrr'):.4f}", f"{result.get_metric('hits@3'):.4f}")
