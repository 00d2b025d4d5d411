"""RMSProp over lanes: against torch's own, lane by lane, and with lanes that wait."""

import pytest
import torch
from torch import nn
from uqbench_dqn.rmsprop import RMSProp


def parameters(lanes: int, seed: int = 0) -> list[nn.Parameter]:
    g = torch.Generator().manual_seed(seed)
    return [nn.Parameter(torch.randn(lanes, *shape, generator=g)) for shape in ((5, 3), (1, 3))]


def gradients(lanes: int, steps: int) -> list[list[torch.Tensor]]:
    g = torch.Generator().manual_seed(1)
    shapes = [((lanes, 5, 3), (lanes, 1, 3))] * steps
    return [[torch.randn(*shape, generator=g) for shape in both] for both in shapes]


@pytest.mark.parametrize("centered", [False, True])
def test_it_is_torchs_but_for_where_epsilon_stands_and_goes_on_after_being_saved(centered):
    ours, theirs = parameters(3), parameters(3)
    rmsprop = RMSProp(ours, 1e-2, 0.95, 0.0, centered)
    reference = torch.optim.RMSprop(theirs, 1e-2, alpha=0.95, eps=0.0, centered=centered)
    for t, step in enumerate(gradients(3, 20)):
        if t == 10:
            state, rmsprop = rmsprop.state_dict(), RMSProp(ours, 1e-2, 0.95, 0.0, centered)
            rmsprop.load_state_dict(state)
        rmsprop.step(step)
        for parameter, gradient in zip(theirs, step, strict=True):
            parameter.grad = gradient
        reference.step()
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("centered", [False, True])
def test_a_lane_that_waits_stays_and_the_others_do_not_notice(centered):
    together, alone = parameters(3), [nn.Parameter(p[1:2].detach().clone()) for p in parameters(3)]
    rmsprop, single = (RMSProp(p, 1e-2, 0.9, 1e-8, centered) for p in (together, alone))
    for t, step in enumerate(gradients(3, 30)):
        active = torch.tensor([True, t % 3 != 0, False])
        rmsprop.step(step, active)
        if active[1]:
            single.step([gradient[1:2] for gradient in step])
    for one, other, start in zip(together, alone, parameters(3), strict=True):
        assert torch.equal(one[1], other[0])
        assert torch.equal(one[2], start[2])
        assert not torch.equal(one[0], start[0])
