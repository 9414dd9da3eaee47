"""What has no data takes no time: products and convolutions of sizes that no machine holds."""

import time

import rushlight as torch
import rushlight.nn.functional as F


def nowhere(*sizes, **more):
    return torch.empty(sizes, device="meta", **more)


def test_products_compute_nothing():
    start = time.process_time()
    large = nowhere(1 << 15, 1 << 15)
    assert (large @ large).shape == (1 << 15, 1 << 15)
    assert F.linear(nowhere(4, 1 << 14, 1 << 15), large, nowhere(1 << 15)).shape == (4, 1 << 14, 1 << 15)
    assert (nowhere(5, 3, 1 << 12, 1 << 14) @ nowhere(3, 1 << 14, 7)).shape == (5, 3, 1 << 12, 7)
    image, weight = nowhere(64, 64, 1 << 12, 1 << 12), nowhere(128, 64, 3, 3)
    assert F.conv2d(image, weight, nowhere(128)).shape == (64, 128, 4094, 4094)
    assert F.conv_transpose2d(image, weight.transpose(0, 1), stride=2).shape == (64, 128, 8193, 8193)
    rows = nowhere(1 << 12, 1 << 12, dtype=torch.int64)
    assert F.embedding(rows, nowhere(0, 1 << 10)).shape == (1 << 12, 1 << 12, 1 << 10)
    assert time.process_time() - start < 2
