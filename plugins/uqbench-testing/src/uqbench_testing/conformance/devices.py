"""Rules that a GPU asks of an agent, tried on a machine without one.

Tensors without data, that say they are on another device (torch's fake tensors on ``meta``), go
through an agent's methods: an operation on tensors of two devices fails, and so does one that needs
the data on the host, for which a GPU would have to be waited for.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from uqbench.contract.agent import Agent, Step, observation_dtype, observation_shape
from uqbench.contract.environment import Outcome
from uqbench.lanes import Capturable
from uqbench.runner.train.compiling import CapturedSteps, compile_agent
from uqbench.runner.train.guards import copied, in_place
from uqbench_testing.capture import simulated
from uqbench_testing.conformance.agent_runs import AgentSubject, ends_as, predictions, step_of
from uqbench_testing.conformance.check import Failed, Skipped, applies, check, expect, located, once

ELSEWHERE = torch.device("meta")
LANES, DEVICE_STEPS = 2, 45


class _Wait(Exception):  # noqa: N818
    """Data of the device was asked for on the host."""


@check(AgentSubject, "agent-device", level="compiled", after=("agent-forms", "uncertainty-forms"))
def device(subject: AgentSubject) -> None:
    """Every tensor is made on the agent's device: no operation mixes two devices.

    The agent's methods on tensors that say they are elsewhere.

    Fix:
        Pass device=device to every factory function, and to Uniform, Clock and ReplayBuffer.
    """
    error = elsewhere(subject)
    if error is not None and not isinstance(error, _Wait):
        raise Failed(located(error))


@check(AgentSubject, "agent-waits", level="compiled", after=("agent-device",))
def waits(subject: AgentSubject) -> None:
    """`act`, observe, policy and uncertainty do not wait for the device.

    Nothing needs the data on the host.

    Fix:
        No .item(), .tolist(), .cpu(), bool(tensor), nonzero or boolean index in a step; let
        torch.where decide.
    """
    subject.must("be fast")
    if isinstance(error := elsewhere(subject), _Wait):
        raise Failed(located(error))


@check(AgentSubject, "agent-capture", level="compiled", after=("agent-repeats",))
def capture(subject: AgentSubject) -> None:
    """Captured steps, replayed, are those from Python, bit for bit.

    Steps of one phase differ only in the tensors' values.

    Fix:
        Read the step from clock.tensor, write results in place, and let the host decide in phase()
        alone.
    """
    trace, plain, agent = subject.baseline, subject.new(), subject.new()
    if not isinstance(agent, Capturable):
        raise Skipped("its steps are not captured: it is no uqbench.lanes.Capturable")

    def met(t: int) -> tuple[Any, ...]:
        obs, valid, outcome = trace.stream[t]
        return obs, valid, trace.actions[t], vars(outcome)

    obs, valid, action, told = shown = tree_map(copied, met(0))
    chosen = torch.full_like(action, -1)

    def step() -> Outcome:
        chosen.copy_(agent.act(obs, valid))
        outcome = Outcome(**told)
        agent.observe(step_of(obs, action, outcome))
        return outcome

    advance = CapturedSteps(step, agent, simulated)
    for t in range(len(trace.stream)):
        tree_map(in_place, shown, met(t))
        advance()
        expect(trace.replay(plain, t).equal(chosen), f"captured, it acts otherwise at step {t}")
    ends_as(plain, agent, "captured")


@check(AgentSubject, "agent-compiles", level="compiled", after=("agent-repeats",))
def compiles(subject: AgentSubject) -> None:
    """The methods that `compiled` names are traced whole, and do the same as before.

    A step traced by torch.compile agrees with the one from Python, within rounding.

    Fix:
        Tensors in, tensors out, always of the same shapes; no Python that depends on values.
    """
    agents = plain, traced = subject.new(), subject.new()
    applies(isinstance(plain, Capturable) and plain.compiled, "it names no methods to compile")
    steps = min(subject.steps, DEVICE_STEPS)
    for t, one in product(range(steps), agents):
        subject.baseline.replay(one, t)
    with patch.object(torch, "compile", partial(torch.compile, backend="aot_eager")):
        compile_agent(traced)
        for t, one in product(range(steps, min(steps + 2, len(subject.baseline.stream))), agents):
            subject.baseline.replay(one, t)
    theirs = traced.metrics()
    for name, value in plain.metrics().items():
        if not torch.allclose(theirs[name], value, rtol=1e-3, atol=1e-4, equal_nan=True):
            raise Failed(f"compiled, {name!r} is {theirs[name].tolist()}; it was {value.tolist()}")


@once
def elsewhere(subject: AgentSubject) -> Exception | None:
    """The first error of an agent whose device has no data; None where there is none."""
    from torch._functorch import config
    from torch._subclasses import fake_tensor as fake

    agent, allowed = None, config.patch(fake_tensor_allow_meta=True)
    moved = patch.object(nn.Module, "_apply", _replaced)  # parameters are replaced
    try:
        with moved, allowed, fake.FakeTensorMode(allow_non_fake_inputs=True):
            agent = subject.new(range(LANES), ELSEWHERE)
            with _NoWaits():  # type: ignore[no-untyped-call]
                _run(subject, agent)
    except (fake.DataDependentOutputException, fake.DynamicOutputShapeException) as error:
        wait = _Wait(f"the host needs the result of {error.func}")
        wait = wait.with_traceback(error.__traceback__)  # nobody waits for what is done once
        applies(agent, f"its constructor computes with values: {located(wait)}")
        return wait
    except Exception as error:
        return error
    return None


def _run(subject: AgentSubject, agent: Agent) -> None:
    """Let an agent act, learn and predict elsewhere."""
    info = subject.info
    streams = (LANES, info.actors)
    shape, dtype = (*streams, *observation_shape(info)), observation_dtype(info)
    obs = torch.zeros(shape, dtype=dtype, device=ELSEWHERE)
    valid = torch.ones(*streams, info.n_actions, dtype=torch.bool, device=ELSEWHERE)
    never = torch.zeros(streams, dtype=torch.bool, device=ELSEWHERE)
    reward = torch.zeros(streams, device=ELSEWHERE)
    for _ in range(0, min(subject.steps, DEVICE_STEPS), info.actors):
        action = agent.act(obs, valid)
        _is_elsewhere("act", action)
        agent.observe(Step(obs, action, reward, never, never, obs, valid))
    asked = obs[:, :1].expand(LANES, 5, *obs.shape[2:])
    for name, value in {**predictions(agent, asked), **agent.metrics()}.items():
        _is_elsewhere(f"the predicted or reported {name}", value)


def _is_elsewhere(what: str, tensor: Tensor) -> None:
    where = f"{what} is on {tensor.device}; the agent's device is another"
    expect(tensor.device.type == ELSEWHERE.type, where)


def _replaced(module: nn.Module, function: Any) -> nn.Module:
    """``Module._apply``, which assigns to ``.data`` what a fake tensor does not take."""
    for one in module.modules():
        for name, own in one._parameters.items():
            if own is not None:
                moved = function(own.detach())
                one._parameters[name] = nn.Parameter(moved, requires_grad=own.requires_grad)
        for name, buffer in one._buffers.items():
            one._buffers[name] = buffer if buffer is None else function(buffer)
    return module


class _NoWaits(TorchDispatchMode):
    """Refuses to bring a tensor to the host."""

    def __torch_dispatch__(
        self, function: Any, types: Sequence[Any], args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and "copy" in str(function) and args:
            given = args[1] if function is torch.ops.aten.copy_.default else args[0]
            if given.device.type == ELSEWHERE.type and result.device.type != ELSEWHERE.type:
                raise _Wait("a tensor is copied to the host")
        return result
