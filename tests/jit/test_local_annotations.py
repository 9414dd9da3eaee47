"""Annotations that are objects: their names need not be closed over. (No postponed annotations here.)"""

import rushlight as torch


def locally():
    from rushlight import Tensor as Here

    def run(x: Here) -> Here:
        return x + 1

    return run


def test_annotations_need_not_be_closed_over():
    assert torch.jit.script(locally())(torch.ones(1)).item() == 2
