"""torch.testing._utils: draws that leave the generator as it was."""

import rushlight as torch


def test_draws_leave_no_trace():
    torch.manual_seed(0)
    wanted = torch.rand(2)
    torch.manual_seed(0)
    drawn = [torch.testing._utils.wrapper_set_seed(torch.rand, 3) for _ in range(2)]
    with torch.testing._utils.freeze_rng_state():
        torch.rand(5)
    assert torch.equal(*drawn)
    assert torch.equal(torch.rand(2), wanted)
