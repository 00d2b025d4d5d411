"""Specs that plugins register: a name, a version, a factory and a typed config."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_type_hints

from uqbench.contract.errors import UqbenchError, did_you_mean, unknown
from uqbench.contract.wording import printed_by

if TYPE_CHECKING:  # imports torch, which would slow down listing plugins
    from uqbench.contract.environment import OptimalQ
    from uqbench.contract.pictures import StateMap
    from uqbench.contract.queries import QueryStates
    from uqbench.contract.side_by_side import SideBySide
    from uqbench.contract.truth import ExactTruth

F = TypeVar("F", bound=Callable[..., Any])
LOOP_AGENT = "uqbench.contract.agent:LoopAgent"

Role = Literal["method", "trivial", "oracle", "unranked"]
ROLES: tuple[Role, ...] = get_args(Role)
Kind = Literal["classification", "regression"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Law = Literal["permutation", "chance"]
Skill = Literal["prediction", "order", "detection"]
LAWS: tuple[Law, ...] = get_args(Law)
"""Laws of scores: a permutation of points changes nothing; one statement for all scores at chance.
Two more need no word: no valid statement beats the truth where a score is proper, and what is no
valid statement has no score, whatever the score makes of it."""


@dataclass(frozen=True)
class NoConfig:
    """The config of what has none: no suite and no ``--set`` can set anything."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A registered risk measure or claim kind; other kinds have a subclass.

    Attributes:
        name: unique within its kind; used by suites and on the command line.
        version: raised by the author whenever results may change; a method's version is part of a
            run's identity.
        factory: builds the object (each hook says how it is called). A string
            ``"package.module:Name"`` is imported only when a run needs it.
        config: dataclass of the factory's config, or its ``"package.module:Name"``; suites and
            ``--set`` are validated against its fields. None for what :func:`config_of` finds.
        summary: one line for ``uqbench list``; if empty, the first line of the factory's
            docstring.
        source: the paper, figure or page that it implements; if empty, the docstring's line
            ``Source: …``.
    """

    name: str
    version: str
    factory: Callable[..., Any] | str
    summary: str = ""
    config: type[Any] | str | None = None
    source: str = ""

    def load_factory(self) -> Callable[..., Any]:
        """The factory, imported if it is a string."""
        factory = _imported(self.factory)
        if not callable(factory):
            raise TypeError(f"the factory of {self.name!r} is not callable: {factory!r}")
        return factory

    def load_config(self) -> type[Any]:
        """The config's type, imported if it is a string."""
        config = config_of(self.load_factory()) if self.config is None else _imported(self.config)
        if not isinstance(config, type):
            raise TypeError(f"the config of {self.name!r} is not a class: {config!r}")
        return config

    def makes(self, *bases: str) -> bool:
        """Whether the factory, imported here, is a class that derives from one of these."""
        return derives(self.load_factory(), *bases)


@dataclass(frozen=True, kw_only=True)
class MethodSpec(Spec):
    """An agent or an estimator.

    Attributes:
        title: its name in its paper, such as ``UA-DQN``; if empty, readers see ``name``.
        role: ``trivial`` for what costs no learning, and needs no model (random play, a constant
            action, a script; the distance to the nearest training input, a norm), ``oracle`` for
            what knows more than a method may (exact policies, look-ahead in the simulation; what
            the truth is made of). Both are shown on boards beside the methods, and have no rank.
    """

    title: str = ""
    role: Role = "method"

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            near = did_you_mean(self.role, ROLES)
            raise ValueError(f"{self.name!r}: there is no role {self.role!r}. {near}")


@dataclass(frozen=True, kw_only=True)
class AgentSpec(MethodSpec):
    """An agent.

    ``factory(info, seeds, config, device)`` returns a :class:`uqbench.contract.agent.Agent`,
    written for lanes. With ``loop=True`` ``factory(info, config)`` returns a
    :class:`uqbench.contract.agent.LoopAgent`.

    Attributes:
        loop: whether it owns its loop: each of its runs is a process of its own, without
            checkpoints.
        actors: whether an agent written for lanes learns from several actors, copies of its
            environment; budgets that have them are refused otherwise.
        vector: the same of a method that owns its loop, which is then given a
            ``gymnasium.vector.VectorEnv``.
        calibrated: whether its intervals for Q are those of a posterior: with rewards of variance
            one they have their nominal coverage. ``uqbench plugin check`` then tries it.
    """

    loop: bool = False
    actors: bool = True
    vector: bool = False
    calibrated: bool = False

    @property
    def takes_actors(self) -> bool:
        """Whether it learns from several actors."""
        return self.vector if self.loop else self.actors

    def load_factory(self) -> Callable[..., Any]:
        """The factory, imported if it is a string.

        Raises:
            UqbenchError: it is a class that owns its loop and is not said to, or the reverse.
        """
        factory = super().load_factory()
        if isinstance(factory, type) and derives(factory, LOOP_AGENT) != self.loop:
            raise UqbenchError(
                f"the agent {self.name!r} says loop={self.loop} and is "
                f"{'no' if self.loop else 'a'} uqbench.agent.LoopAgent: say loop={not self.loop}"
            )
        return factory


@dataclass(frozen=True, kw_only=True)
class EstimatorSpec(MethodSpec):
    """An estimator.

    ``factory(problem, seeds, config, device)`` returns a
    :class:`uqbench.contract.estimator.Estimator`.

    Attributes:
        kinds: of what it can predict; runs on other data sets are not planned.
    """

    kinds: tuple[Kind, ...] = KINDS


@dataclass(frozen=True, kw_only=True)
class EnvironmentSpec(Spec):
    """An environment.

    What it knows of the truth, and its map of states, are functions, or their
    ``"package.module:function"``, imported only when a run needs them (:func:`imported`).

    ``factory(config)`` returns one ``gymnasium.Env``; the harness makes one per lane and batches
    them. With ``lanes=True``, ``factory(config, seeds, time_limit, device)`` returns a
    :class:`uqbench.contract.environment.LaneEnv` that steps all lanes itself. With ``vector=True``,
    ``factory(config, num_envs)`` returns a ``gymnasium.vector.VectorEnv`` in any autoreset mode
    (:mod:`uqbench.lanes.adapters.vector`); where it has a parameter ``seeds``, that is one of each.

    Attributes:
        events: names of the events the environment counts, e.g. ``("falls",)``.
        lanes: whether the factory makes a ``LaneEnv``; a class that is one need not say so.
        vector: the same of a ``VectorEnv``.
        has_state_dict: whether the ``gymnasium.Env`` it makes has ``state_dict()`` and
            ``load_state_dict(state)``; otherwise a run that resumes replays its actions.
        optimal_return: ground truth, where known: from a config to the expected undiscounted
            return of the best policy from an episode's start. Metrics with
            ``statistic = "regret"`` need it.
        optimal_reward: the same for continuing tasks: the best average reward per step.
        optimal_q: the exact Q*, where known: from a config and a discount to a
            :class:`uqbench.contract.environment.OptimalQ`. Agents' predictions of Q are scored
            against it.
        exact_truth: the exact values of any policy, where known: from a config, a discount and the
            lanes' seeds to a :class:`uqbench.contract.truth.ExactTruth`.
        sizes: those of its truth's scores that are there for widths of every size, too, as
            ``NAME@0``, ``NAME@1``, …. Metrics with ``statistic = "queries/one-size/NAME"`` need it.
        queries: from a config to the :class:`uqbench.contract.queries.QueryStates` of that task,
            where agents' predictions are scored against the truth about their own policy; or to
            None.
        state_map: from a config to a :class:`uqbench.contract.pictures.StateMap`, on which an
            agent's uncertainty about every state can be drawn.
        side_by_side: from several configs, the seeds of the lanes of each, a time limit and a
            device to a :class:`uqbench.contract.side_by_side.SideBySide`, each lane as from the
            factory. A GPU learns the tasks of a method in one batch then, unless truth is exact.
    """

    events: tuple[str, ...] = ()
    lanes: bool = False
    vector: bool = False
    has_state_dict: bool = False
    optimal_return: Callable[[Any], float] | str | None = None
    optimal_reward: Callable[[Any], float] | str | None = None
    optimal_q: Callable[[Any, float], OptimalQ] | str | None = None
    exact_truth: Callable[[Any, float, Sequence[int]], ExactTruth] | str | None = None
    sizes: tuple[str, ...] = ()
    queries: Callable[[Any], QueryStates | None] | str | None = None
    state_map: Callable[[Any], StateMap] | str | None = None
    side_by_side: Callable[..., SideBySide] | str | None = None

    def __post_init__(self) -> None:
        if self.lanes + self.vector + self.has_state_dict > 1:
            raise ValueError(
                f"environment {self.name!r}: expected one of lanes, vector and has_state_dict, "
                f"which is said of single environments"
            )

    @property
    def makes_lanes(self) -> bool:
        """Whether ``factory(config, seeds, time_limit, device)`` makes a ``LaneEnv``."""
        return self.lanes or self.makes("uqbench.contract.environment:LaneEnv")

    @property
    def makes_vector(self) -> bool:
        """Whether ``factory(config, num_envs)`` makes a ``VectorEnv``."""
        return self.vector or self.makes("gymnasium.vector:VectorEnv")


@dataclass(frozen=True, kw_only=True)
class DatasetSpec(Spec):
    """A supervised problem: ``factory(config)`` returns a :class:`uqbench.estimator.Dataset`.

    Attributes:
        scores: names of the scores that it computes itself; suites refer to them.
        score_versions: of those whose numbers have changed since their first version, "1".
        kind: of its targets, from its config, or ``"package.module:function"``; None where methods
            that cannot predict them find out when they run.
    """

    kind: Callable[[Any], Kind] | str | None = None
    scores: tuple[str, ...] = ()
    score_versions: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, kw_only=True)
class ScoreSpec(Spec):
    """A score of stored predictions.

    ``factory(predictions)`` is the score itself: from one run's
    :class:`uqbench.contract.estimator.Predictions` by evaluation set, NumPy arrays with one lane,
    to a number.

    Attributes:
        direction: whether more (``max``) or less (``min``) is better.
        proper: whether no valid statement has a better score, in expectation, than the truth.
        skill: the part of a prediction that the score rewards, and controls replace: all of it
            (``prediction``), the order of its uncertainties (``order``), or the order by which sets
            are told apart (``detection``); None of what no method should have more of, such as a
            coverage.
        chance: the score of a statement that is the same for every point: a number, or a function
            of the same predictions (or its ``"package.module:Name"``).
        without: the laws (:data:`LAWS`) that it does not obey, each with the derivation.
    """

    direction: Literal["max", "min"]
    proper: bool = False
    skill: Skill | None = None
    chance: float | Callable[[Any], float] | str | None = None
    without: Mapping[Law, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_laws(self.name, self.without)

    def at_chance(self, predictions: Any) -> float | None:
        """The score that a constant statement has; None where none is declared."""
        chance: Any = _imported(self.chance)
        if chance is None:
            return None
        return float(chance(predictions) if callable(chance) else chance)


@dataclass(frozen=True, kw_only=True)
class ExecutorSpec(Spec):
    """An executor: ``factory(context, config)`` returns a :class:`uqbench.executor.Executor`.

    ``context`` is a :class:`uqbench.contract.executor.ExecutorContext`.

    Attributes:
        elsewhere: whether it is given orders, which outlive the driver on machines that share the
            store's folder with it; a driver that is started again follows them. Not for ``local``
            alone: the driver executes its batches in processes of its own.
        waits: whether the command follows its orders to their end unless told not to.
    """

    elsewhere: bool = True
    waits: bool = True


def check_laws(score: str, without: Mapping[Law, str]) -> None:
    """See that what a score declares of the laws can be read.

    Raises:
        UqbenchError: there is no such law.
        ValueError: it does not say why.
    """
    for law, why in without.items():
        if law not in LAWS:
            raise unknown("law", law, LAWS)
        if not why.strip():
            raise ValueError(f"score {score!r} is without the law {law!r}: expected a derivation")


def imported(function: F | str | None) -> F | None:
    """A function of an :class:`EnvironmentSpec`, imported if it is a string; None where none is.

    Raises:
        TypeError: what the string names cannot be called.
    """
    target: Any = _imported(function)
    if target is not None and not callable(target):
        raise TypeError(f"{function} is not callable: {target!r}")
    known: F | None = target
    return known


def _imported(target: object) -> object:
    with printed_by(f"the import of {target if isinstance(target, str) else 'it'}"):
        return pkgutil.resolve_name(target) if isinstance(target, str) else target


def derives(factory: object, *bases: str) -> bool:
    """Whether it is a class that derives from one of ``"package.module:Name"``, imported here."""
    known = tuple(pkgutil.resolve_name(base) for base in bases)
    return isinstance(factory, type) and issubclass(factory, known)


def config_of(factory: Any) -> type[Any]:
    """The config's type of a factory that names none.

    It is the factory itself if that is a dataclass, as a risk measure is; else the dataclass that
    its parameter ``config`` is annotated with; else ``<Class>Config`` or ``Config`` of its module;
    else :class:`NoConfig`.
    """
    if isinstance(factory, type) and is_dataclass(factory):
        return factory
    made_by = getattr(factory, "__init__") if isinstance(factory, type) else factory  # noqa: B009
    try:
        annotated = get_type_hints(made_by).get("config")
    except (NameError, TypeError):  # annotated for type checkers alone, or an object that is called
        annotated = None
    name, module = (getattr(factory, key, "") for key in ("__name__", "__module__"))
    near = vars(sys.modules[module]) if module in sys.modules else {}
    for one in (annotated, near.get(f"{name}Config"), near.get("Config")):
        if isinstance(one, type) and is_dataclass(one):
            return one
    return NoConfig
