"""What a plugin hands to the harness: a name, a version, a factory and a typed config."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imports torch, which listing plugins need not wait for
    from uqbench.environment import OptimalQ


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One thing that a plugin adds: an estimator, a risk measure, a claim kind; see also below.

    Attributes:
        name: unique among its kind; what suites and the command line use.
        version: raised by the author whenever results may change; part of a run's identity.
        factory: makes the thing (each hook says how it is called). A string
            ``"package.module:Name"`` is imported only when a run needs it.
        config: dataclass of the factory's config, or its ``"package.module:Name"``;
            suites and ``--set`` are checked against its fields. None where the factory is itself
            a dataclass that holds its values, as a risk measure is.
        summary: one line for ``uqbench list``; where it is empty, the first line of the factory's
            docstring.
        source: the paper, figure or page that it implements; where it is empty, the docstring's
            line ``Source: …``.
    """

    name: str
    version: str
    factory: Callable[..., Any] | str
    summary: str = ""
    config: type[Any] | str | None = None
    source: str = ""

    def load_factory(self) -> Callable[..., Any]:
        """Import the factory where it was given as a string."""
        factory = _imported(self.factory)
        if not callable(factory):
            raise TypeError(f"the factory of {self.name!r} is not callable: {factory!r}")
        return factory

    def load_config(self) -> type[Any]:
        """Import the config type where it was given as a string."""
        config = self.load_factory() if self.config is None else _imported(self.config)
        if not isinstance(config, type):
            raise TypeError(f"the config of {self.name!r} is not a class: {config!r}")
        return config


@dataclass(frozen=True, kw_only=True)
class AgentSpec(Spec):
    """An agent.

    ``factory(info, seeds, config, device)`` gives a :class:`uqbench.agent.Agent`, written for
    lanes. With ``owns_loop=True`` it is ``factory(info, config)`` and gives a
    :class:`uqbench.agent.LoopAgent`.

    Attributes:
        owns_loop: whether the method brings its own training loop; then each run has a process of
            its own, and one that is interrupted starts again from its first step.
    """

    owns_loop: bool = False


@dataclass(frozen=True, kw_only=True)
class EnvironmentSpec(Spec):
    """An environment.

    ``factory(config)`` gives one ``gymnasium.Env``; the harness makes one per lane and batches
    them. With ``lanes=True`` the factory is a :class:`uqbench.environment.LaneEnv` that steps all
    lanes itself: ``factory(config, seeds, time_limit, device)``.

    Attributes:
        events: names of the counters the environment publishes, e.g. ``("falls",)``.
        lanes: whether the factory makes a ``LaneEnv``.
        optimal_return: ground truth, where it is known: from a config to the expected undiscounted
            return of the best policy from an episode's start. Metrics with
            ``statistic = "regret"`` need it.
        optimal_reward: likewise for continuing tasks: the best average reward of a step.
        optimal_q: likewise the exact Q*: from a config and a discount to a
            :class:`uqbench.environment.OptimalQ`. What agents state about Q is scored against it.
    """

    events: tuple[str, ...] = ()
    lanes: bool = False
    optimal_return: Callable[[Any], float] | None = None
    optimal_reward: Callable[[Any], float] | None = None
    optimal_q: Callable[[Any, float], OptimalQ] | None = None


@dataclass(frozen=True, kw_only=True)
class DatasetSpec(Spec):
    """A supervised problem: ``factory(config)`` gives a :class:`uqbench.estimator.Dataset`.

    Attributes:
        scores: names of the scores that it gives; suites refer to them.
    """

    scores: tuple[str, ...]


def _imported(target: object) -> object:
    return pkgutil.resolve_name(target) if isinstance(target, str) else target
