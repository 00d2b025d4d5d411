"""What a GPU asks of an agent, on a machine without one.

Tensors without data, that say they are on another device (torch's fake tensors on ``meta``), go
through an agent's methods: an operation on tensors of two devices fails, and so does one that needs
the data on the host, for which a GPU would have to be waited for.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from uqbench.contract.agent import Agent, Step, observation_dtype, observation_shape
from uqbench.lanes import Capturable
from uqbench.runner.train.compiling import compile_agent
from uqbench.testing.capture import simulated
from uqbench.testing.conformance.agent_runs import AgentSubject, Recorded, predictions
from uqbench.testing.conformance.check import Failed, Skipped, check, located, once
from uqbench.testing.same_bits import compare_captured

ELSEWHERE = torch.device("meta")
LANES, DEVICE_STEPS = 2, 45


class _Wait(Exception):  # noqa: N818
    """Data of the device was asked for on the host."""


@check(AgentSubject, "agent-device", level="compiled", after=("agent-forms",))
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
    if subject.role != "method":
        raise Skipped(f"its role is {subject.role!r}: its speed is nobody's concern")
    error = elsewhere(subject)
    if isinstance(error, _Wait):
        raise Failed(located(error))


@check(AgentSubject, "agent-capture", level="compiled", after=("agent-repeats",))
def capture(subject: AgentSubject) -> None:
    """Captured steps, replayed, are those from Python, bit for bit.

    Steps of one phase differ only in the tensors' values.

    Fix:
        Read the step from clock.tensor, write results in place, and let the host decide in phase()
        alone.
    """
    if not isinstance(subject.new(), Capturable):
        raise Skipped("its steps are not captured: it is no uqbench.lanes.Capturable")
    trace, info = subject.baseline, subject.info
    first = compare_captured(
        lambda: (subject.new(), Recorded(trace, info)), subject.steps, simulated, info.actors
    )
    if first is not None:
        raise Failed(f"captured, its {first.where} differs at the end")


@check(AgentSubject, "agent-compiles", level="compiled", after=("agent-repeats",))
def compiles(subject: AgentSubject) -> None:
    """The methods that `compiled` names are traced whole, and do the same as before.

    A step traced by torch.compile agrees with the one from Python, within rounding.

    Fix:
        Tensors in, tensors out, always of the same shapes; no Python that depends on values.
    """
    plain, traced = (subject.new() for _ in range(2))
    if not isinstance(plain, Capturable) or not plain.compiled:
        raise Skipped("it names no methods to compile")
    steps = min(subject.steps, DEVICE_STEPS)
    for t, one in product(range(steps), (plain, traced)):
        subject.baseline.replay(one, t)
    with patch.object(torch, "compile", partial(torch.compile, backend="aot_eager")):
        compile_agent(traced)
        last = min(steps + 2, len(subject.baseline.stream))
        for t, one in product(range(steps, last), (plain, traced)):
            subject.baseline.replay(one, t)
    mine, theirs = plain.metrics(), traced.metrics()
    for name, value in mine.items():
        if not torch.allclose(theirs[name], value, rtol=1e-3, atol=1e-4, equal_nan=True):
            raise Failed(f"compiled, {name!r} is {theirs[name].tolist()}; it was {value.tolist()}")


@once
def elsewhere(subject: AgentSubject) -> Exception | None:
    """The first error of an agent whose device has no data; None where there is none."""
    from torch._subclasses import fake_tensor as fake

    agent = None
    try:
        with fake_device():
            agent = subject.new(range(LANES), ELSEWHERE)
            with _NoWaits():  # type: ignore[no-untyped-call]
                _run(subject, agent)
    except (fake.DataDependentOutputException, fake.DynamicOutputShapeException) as error:
        wait = _Wait(f"the host needs the result of {error.func}").with_traceback(
            error.__traceback__
        )
        if agent is None:  # once, before any step: nobody waits for that
            raise Skipped(f"its constructor computes with values: {located(wait)}") from error
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
    for name, value in predictions(agent, asked).items():
        _is_elsewhere(f"the predicted {name}", value)
    for name, value in agent.metrics().items():
        _is_elsewhere(f"the metric {name}", value)


def _is_elsewhere(what: str, tensor: Tensor) -> None:
    if tensor.device.type != ELSEWHERE.type:
        raise Failed(f"{what} is on {tensor.device}; the agent's device is another")


@contextmanager
def fake_device() -> Iterator[None]:
    """Tensors have no data here; modules' parameters are replaced where they are moved."""
    from torch._functorch import config
    from torch._subclasses.fake_tensor import FakeTensorMode

    allowed = config.patch(fake_tensor_allow_meta=True)
    moved = patch.object(nn.Module, "_apply", _replaced)
    with allowed, moved, FakeTensorMode(allow_non_fake_inputs=True):
        yield


def _replaced(module: nn.Module, function: Any) -> nn.Module:
    """``Module._apply``, which assigns to ``.data`` what a fake tensor does not take."""
    for child in module.children():
        _replaced(child, function)
    for name, own in module._parameters.items():
        if own is not None:
            moved = function(own.detach())
            module._parameters[name] = nn.Parameter(moved, requires_grad=own.requires_grad)
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = function(buffer)
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
