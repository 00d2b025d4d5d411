"""The proof that a run learned: its updates, what they changed, and returns beside its own.

Agents for lanes are looked into: networks, or, without any, tables and the like. A method that owns
its loop shows its PyTorch optimizers, and what its policy returns.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import is_dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from uqbench.contract.agent import Agent
from uqbench.runner.train.evaluation import Evaluated
from uqbench.runner.train.loop_agent import SinglePolicy
from uqbench.runner.train.measurements import Measurements


class LoopProof:
    """The proof of a method that owns its loop, seen from outside from its first step on.

    Its gradient steps are those of all PyTorch optimizers of the process. Without any it may still
    learn, as tables do: only where its evaluations return what they did before is that said.
    """

    def __init__(self, measured: Measurements) -> None:
        self._measured, self._steps = measured, 0
        self._first: dict[Tensor, Tensor] = {}
        self._untrained: Evaluated | None = None
        self._hook = register_optimizer_step_pre_hook(self._before)

    def begin(self, agent: SinglePolicy) -> None:
        """Evaluate a policy after its first step, before it learned from any.

        Not in a ranked run: a policy that remembers being asked would change it. Global
        generators, such as NumPy's and those of CUDA, are then where they were.
        """
        if self._measured.compares:
            # a loop may make its policy as it learns: then that is not known
            gpus = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
            drawn, drawn_by_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
            with torch.random.fork_rng(gpus), suppress(Exception):
                self._untrained = self._measured.episodes(agent)
            random.setstate(drawn)
            np.random.set_state(drawn_by_numpy)  # noqa: NPY002

    def stop(self) -> None:
        """Watch no more."""
        self._hook.remove()

    def found(self, baseline: Callable[[], Agent]) -> dict[str, float]:
        """The proof, once the trained policy is judged."""
        self.stop()
        found = returns(self._measured, self._untrained, baseline)
        found["gradient_steps"] = [self._steps]
        if self._steps or found.get("trained", 0) == found.get("untrained"):
            after = [weight.detach() for weight in self._first]
            found["moved"] = relative_change([*self._first.values()], after, 1)
        return {name: float(of[0]) for name, of in found.items()}

    def _before(self, optimizer: Optimizer, *_: object) -> None:
        self._steps += 1
        for weight in (one for group in optimizer.param_groups for one in group["params"]):
            if weight not in self._first:
                self._first[weight] = weight.detach().to("cpu", copy=True)


def returns(
    measured: Measurements, untrained: Evaluated | None, baseline: Callable[[], Agent]
) -> dict[str, Sequence[float]]:
    """Mean returns ``[L]`` of evaluations: trained, untrained where it is known, and random."""
    if measured.returned is None:
        return {}
    known = {"untrained": untrained, "random": measured.episodes(baseline())}
    means = {name: [*of.returns.mean(1).tolist()] for name, of in known.items() if of is not None}
    return {"trained": measured.returned.tolist(), **means}


def weights(agent: object) -> list[Tensor]:
    """The parameters of the networks that an agent holds."""
    networks = [part for part in _held(agent) if isinstance(part, nn.Module)]
    return [weight.detach() for network in networks for weight in network.parameters()]


def parameters(agent: object) -> list[Tensor]:
    """The weights of an agent, or, without networks, the real numbers that it holds as tensors."""
    held = [_held(one) if is_dataclass(one) else [one] for one in _held(agent)]
    own = [one for part in held for one in part if isinstance(one, Tensor)]
    return weights(agent) or [one for one in own if one.is_floating_point()]


def _held(one: object) -> list[object]:
    """The values of an object's attributes; none of one with slots."""
    return [*getattr(one, "__dict__", {}).values()]


def relative_change(before: list[Tensor], after: list[Tensor], lanes: int) -> list[float]:
    """``‖w − w₀‖ / ‖w₀‖`` of each lane, 1 from zero; parameters are ``[L, …]``, or all lanes'.

    One of another shape than it began with has moved by all that it is.
    """

    def squares(each: Iterable[Tensor]) -> Tensor:
        own = [one.double().square().cpu() for one in each if one.numel()]
        rows = [len(one) if one.dim() and len(one) == lanes else 1 for one in own]
        sums = [one.reshape(n, -1).sum(1) for one, n in zip(own, rows, strict=True)]
        return sum(sums, torch.zeros(lanes, dtype=torch.float64))

    pairs = zip(after, before, strict=False)
    same = ((one.cpu(), first.cpu()) for one, first in pairs)  # a loop may move its networks
    moved = squares(one - first if one.shape == first.shape else one for one, first in same)
    began = squares(before)
    return [*(moved / torch.where(began > 0, began, moved.clamp(min=1e-30))).sqrt().tolist()]
