"""A target network stands still until it is renewed, takes no gradients and shares no memory."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from uqbench.lanes import LaneLinear, initialize, lane_generators, sync_target, target_copy


def online_network() -> nn.Sequential:
    network = nn.Sequential(LaneLinear(2, 3, 4), nn.ReLU(), LaneLinear(2, 4, 1))
    initialize(network, lane_generators([0, 1]), 1.0)
    return network


def shift(network: nn.Module) -> None:
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 1.0


def same(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_the_copy_starts_equal_and_stays_when_the_online_network_moves() -> None:
    online = online_network()
    target = target_copy(online)
    before = [parameter.clone() for parameter in target.parameters()]
    assert same(online, target)
    shift(online)
    assert all(torch.equal(a, b) for a, b in zip(target.parameters(), before, strict=True))


def test_the_copy_takes_no_gradients_and_the_online_network_still_does() -> None:
    online = online_network()
    target = target_copy(online)
    assert not target(torch.ones(2, 1, 3)).requires_grad
    assert online(torch.ones(2, 1, 3)).requires_grad


def test_renewing_copies_every_parameter_in_place() -> None:
    online = online_network()
    target = target_copy(online)
    addresses = [parameter.data_ptr() for parameter in target.parameters()]
    shift(online)
    sync_target(online, target)
    assert same(online, target)
    assert [parameter.data_ptr() for parameter in target.parameters()] == addresses
    shift(online)
    assert not same(online, target)
    assert not any(parameter.requires_grad for parameter in target.parameters())


def test_networks_of_different_depth_are_refused() -> None:
    online = online_network()
    with pytest.raises(ValueError, match="shorter"):
        sync_target(online, online[0])
