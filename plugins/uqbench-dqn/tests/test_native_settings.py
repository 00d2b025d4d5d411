"""A native step reads every setting that its class reads, or is refused."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
import torch

pytest.importorskip("numba")

from uqbench_dqn.config import DeepQConfig

from uqbench.config import resolve
from uqbench.errors import UqbenchError
from uqbench.registry import Host
from uqbench.runner.train.compiling import execute_as, initial_weights
from uqbench.testing.same_bits import train
from uqbench.testing.worlds import RotatingPixels

HOST = Host.load()
NATIVE = [name for name, spec in HOST.agents.items() if "native" in vars(spec.load_factory())]
SMALL = {
    "hidden": [32], "batch_size": 16, "replay_capacity": 64, "learning_starts": 20,
    "learning_rate": 1e-3, "target_sync_period": 8}  # fmt: skip
SHARED = {k: x for k, x in SMALL.items() if k not in ("learning_starts", "target_sync_period")}
NEUTRAL = "expectation of expectation"
OWN = {"sentinel-k": SHARED | {"channels": 16, "risk": NEUTRAL, "update_period": 8}}
"""In place of these, where an agent has other ones."""
LEFT_ALONE = {
    "exploration", "epsilon_initial", "epsilon_final", "epsilon_decay_steps", "epsilon_decay_from",
    "schedule", "learn_period", "updates_per_event", "target_sync_updates", "rmsprop_decay",
    "rmsprop_epsilon", "channels", "kernel", "stride", "samples", "update_period"}  # fmt: skip
"""Settings of acting, of schedules, and of what has no native step, which the class reads alone."""
STEPS = 60


def others(name: str, kind: Any, value: Any) -> Iterator[Any]:
    """Values of a field that differ from the one it has."""
    if get_origin(kind) is Literal:
        yield from (choice for choice in get_args(kind) if choice != value)
    elif name in ("risk", "reward_clip"):
        yield {"risk": "cvar(0.25)", "reward_clip": 0.1}[name]
    elif isinstance(value, bool) or value is None or isinstance(value, tuple):
        return  # networks of other shapes have tests of their own
    elif isinstance(value, int):
        yield 2 * value + 1
    elif isinstance(value, float):
        yield 0.3 * value + 0.1


def cases() -> Iterator[Any]:
    for name in NATIVE:
        config = HOST.agents[name].load_config()
        hints, own = get_type_hints(config), config()
        for field in fields(config):
            if field.name not in OWN.get(name, SMALL).keys() - {"risk"} | LEFT_ALONE:
                for value in others(field.name, hints[field.name], getattr(own, field.name)):
                    shared = hasattr(DeepQConfig, field.name) and name != "dqn"
                    marks, of = [pytest.mark.long] * shared, f"{name}-{field.name}={value}"
                    yield pytest.param(name, {field.name: value}, id=of, marks=marks)


def made(name: str, settings: dict[str, Any]) -> Any:
    spec, given = HOST.agents[name], OWN.get(name, SMALL) | settings
    config = resolve(spec.load_config(), given, where="test", risk_names=HOST.risk_names)
    with initial_weights("native"):
        return spec.load_factory()(RotatingPixels.info(), [3], config, torch.device("cpu"))


def pair(name: str, settings: dict[str, Any]) -> tuple[Any, Any] | None:
    try:
        return made(name, settings), made(name, settings)
    except (ValueError, UqbenchError) as refused:
        known = ("use start = 'random'", "schedule 'periodic'", "needs an even number of units")
        if any(why in str(refused) for why in known):
            return None
        raise


@pytest.mark.parametrize(("name", "settings"), [*cases()])
def test_a_native_step_with_any_setting_is_the_one_the_class_defines(name, settings, monkeypatch):
    monkeypatch.setattr("uqbench.runner.train.compiling.compile_agent", lambda agent: None)
    agents, notices = pair(name, settings), []
    if agents is None:
        return  # the class itself refuses it
    eager, native = agents
    execute_as(native, "native", notices.append)
    if notices:
        assert notices[0].startswith("numerics = 'native': compiled instead: ")
        return
    list(train(eager, RotatingPixels(1), STEPS))
    native.load_state_dict(eager.state_dict())
    index = torch.arange(eager.config.batch_size)[None]
    members = getattr(eager.config, "members", 0)
    slots = index[:, None].repeat(1, members, 1) if members else index
    torch.testing.assert_close(native.learn(slots).mean(-1), eager.learn(slots).mean(-1))
    pairs = zip(native.optimizer.parameters, eager.optimizer.parameters, strict=True)
    assert max((one - two).abs().max().item() for one, two in pairs) < 1e-5
    if hasattr(eager, "update_posterior"):
        for agent in (eager, native):
            agent.update_posterior()
        torch.testing.assert_close(native.mean, eager.mean, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(native.factor, eager.factor, rtol=1e-4, atol=1e-4)
    seen = eager.replay.gather(index)["obs"]
    assert torch.equal(native.policy(seen), eager.policy(seen))
    said, right = native.uncertainty(seen), eager.uncertainty(seen)
    for one, other in ((said.mean, right.mean), (said.epistemic_var, right.epistemic_var)):
        if other is not None:
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
