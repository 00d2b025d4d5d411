"""Training an agent, and judging it: the lanes of a batch, from the first step to their columns."""

import gc
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

import torch

from uqbench.contract.agent import Agent, EnvironmentInfo, LoopAgent
from uqbench.contract.config import CountsGradientSteps
from uqbench.contract.environment import HasState, LaneEnv
from uqbench.contract.errors import CannotSaveError, in_words
from uqbench.contract.side_by_side import SideBySide
from uqbench.lanes.execution import use_onednn
from uqbench.registry.builtin.configs import UniformRandomConfig
from uqbench.registry.builtin.trivial import UniformRandom
from uqbench.registry.plugins import Host
from uqbench.runner.batches import Batch
from uqbench.runner.checkpoints import UnusableError
from uqbench.runner.train.compiling import capture_of, execute_as, initial_weights
from uqbench.runner.train.exported_agents import training_files
from uqbench.runner.train.loop import Position, interact
from uqbench.runner.train.loop_agent import RecordedLanes, SinglePolicy, train
from uqbench.runner.train.measurements import Latest, Measurements
from uqbench.runner.train.proof import LoopProof, parameters, relative_change, returns, weights

Ended = tuple[Agent | SinglePolicy, Callable[[], list[dict[str, bytes]]]]
"""The agent of a batch after its last step, and what makes the files of each run's training."""


class ApartError(Exception):
    """The tasks of a batch cannot be one; its message is the reason."""


class Training:
    """The runs of a batch, one a lane, whose agent is written for lanes: taken step by step.

    Args:
        batch: the runs.
        host: the plugins.
        measured: its measurements, and the environment.
        saved: reads the state to resume from; None starts with the first step.
        notify: called with messages for the user.

    Raises:
        UnusableError: the runs cannot resume from what was saved.
    """

    def __init__(
        self,
        batch: Batch,
        host: Host,
        measured: Measurements,
        saved: Callable[[], Mapping[str, Any]] | None,
        notify: Callable[[str], None],
    ) -> None:
        self._batch, self._measured, self._env = batch, measured, measured.env
        self._host, self._notify = host, notify
        self._agent, numerics = self._make(batch), batch.budget.numerics
        self._first = [one.detach().to("cpu", copy=True) for one in parameters(self._agent)]
        execute_as(self._agent, numerics, notify)
        self._capture = capture_of(self._agent, self._env, measured.device, numerics)
        self._parts: dict[str, HasState] = {
            "agent": self._agent,
            "environment": self._env,
            "recorder": measured.recorder,
        }
        self._parts |= {f"queries{k or ''}": asks for k, asks in enumerate(measured.queries)}
        self._position = None if saved is None else self._load(saved())
        if self._position is None:
            measured.begin(self._agent)

    def _make(self, batch: Batch) -> Agent:
        """The untrained agent of some of its runs; of several tasks' it begins as those of each."""
        alone, device = self._measured.alone, self._measured.device
        if not batch.beside:
            return make_agent(batch, self._host, alone[batch.cell.task.name], device)
        own = [self._make(part).exported_state() for part in batch.parts]
        agent = make_agent(batch, self._host, self._env, device)
        assert isinstance(self._env, SideBySide)
        try:
            self._env.begin(agent, own)
        except Exception as error:  # a plugin may raise anything
            raise ApartError(in_words(error)) from error
        return agent

    def steps(self) -> Iterator[tuple[int, Latest]]:
        """Train to the end; yields the steps taken, and what was recorded last, after each step."""
        budget, measured, start = self._batch.budget, self._measured, self._position
        recorder, actors = measured.recorder, budget.actors
        for position in interact(
            self._agent, self._env, budget.steps, recorder, start, self._capture, actors
        ):
            self._position = position
            measured.see(position.step, self._agent, position.obs)
            measured.measure(position.step, self._agent)
            yield position.step, measured.latest

    def state(self) -> dict[str, Any]:
        """All that it resumes from, between two steps.

        Raises:
            CannotSaveError: a part cannot be saved.
        """
        assert self._position is not None
        state: dict[str, Any] = {"position": self._position._asdict()}
        for name, part in self._parts.items():
            try:
                state[name] = part.state_dict()
            except Exception as error:  # a plugin may raise anything; that is the reason
                raise CannotSaveError(f"the {name} cannot be saved: {error}") from error
        return state

    def _load(self, state: Mapping[str, Any]) -> Position:
        missing = [name for name in (*self._parts, "position") if name not in state]
        if missing:
            raise UnusableError(f"it has no {' and no '.join(missing)}: another version wrote it")
        for name, part in self._parts.items():
            try:
                part.load_state_dict(state[name])
            except Exception as error:  # the same
                raise UnusableError(f"the {name} rejects its saved state: {error}") from error
        return Position(**state["position"])

    def ended(self) -> Ended:
        """The agents after their last step."""
        assert self._position is not None
        self._measured.end(self._agent)
        how = self._agent, self._make, self._position.obs, self._measured
        return self._agent, partial(training_files, self._batch, *how)

    def learning(self) -> list[dict[str, float]]:
        """The proof of each lane that it learned, once it is judged; empty where none is seen."""
        batch, measured, lanes = self._batch, self._measured, len(self._batch.runs)
        moved = relative_change(self._first, parameters(self._agent), lanes)
        if not weights(self._agent) and 0 in moved:  # it may learn where nobody looks
            return [{}] * lanes
        getattr(self._agent, "__dict__", {}).clear()  # its memory is for an untrained one
        gc.collect()  # what compiling and native steps put in its place refers to it
        fresh = None
        try:
            fresh = None if measured.returned is None else measured.episodes(self._make(batch))
        except torch.OutOfMemoryError:
            self._notify("returns of an untrained agent are left out: no memory for a second one")
        proof = returns(measured, fresh, partial(random_agent, batch, measured)) | {"moved": moved}
        if isinstance(batch.cell.config, CountsGradientSteps):
            proof["gradient_steps"] = [batch.cell.config.gradient_steps(batch.budget.steps)] * lanes
        return [{name: float(of[lane]) for name, of in proof.items()} for lane in range(lanes)]


def random_agent(batch: Batch, measured: Measurements) -> Agent:
    """Uniformly random actions in the environment of a batch."""
    seeds, info = [run.agent_seed for run in batch.runs], _environment_info(batch, measured.env)
    return UniformRandom(info, seeds, UniformRandomConfig(), measured.device)


def untrained(batch: Batch, host: Host, env: LaneEnv) -> Agent | SinglePolicy:
    """The method's agent before its first step, with one lane per run."""
    if batch.cell.owns_loop:
        return make_loop_agent(batch, host, env)
    return make_agent(batch, host, env, torch.device(batch.device))


def train_loop_agent(
    batch: Batch,
    host: Host,
    measured: Measurements,
    on_step: Callable[[int, Latest], None],
    proof: LoopProof,
) -> Ended:
    """Train the run of a batch whose method owns its loop, which cannot be taken step by step.

    Args:
        batch: the run.
        host: the plugins.
        measured: its measurements, and the environment.
        on_step: called after every step, with the steps taken and what was recorded last.
        proof: of what it learns.
    """
    env, steps = measured.env, batch.budget.steps
    make = partial(make_loop_agent, host=host, env=env)
    single = make(batch)
    measured.begin(single)

    def after_step(step: int) -> None:
        if step == batch.budget.actors:
            proof.begin(single)
        measured.see(step, single, recorded.obs[None])
        measured.measure(step, single)
        on_step(step, measured.latest)

    recorded = RecordedLanes(env, steps, measured.recorder, after_step)
    train(single.stands_for, recorded, steps, batch.runs[0].agent_seed, batch.budget.actors)
    measured.measure(steps, single)
    measured.end(single)
    on_step(steps, measured.latest)
    return single, partial(training_files, batch, single, make, recorded.obs[None], measured)


def make_agent(batch: Batch, host: Host, env: LaneEnv, device: torch.device) -> Agent:
    """The method's agent, written for lanes, with one lane per run."""
    make = host.agents[str(batch.cell.method.agent)].load_factory()
    seeds, info = [run.agent_seed for run in batch.runs], _environment_info(batch, env)
    with initial_weights(batch.budget.numerics):
        agent: Agent = make(info, seeds, deepcopy(batch.cell.config), device)
    if batch.budget.actors > 1 and device.type == "cpu":
        use_onednn(vars(agent).values())
    return agent


def make_loop_agent(batch: Batch, host: Host, env: LaneEnv) -> SinglePolicy:
    """The method that owns its loop, untrained."""
    make = host.agents[str(batch.cell.method.agent)].load_factory()
    agent: LoopAgent = make(_environment_info(batch, env), deepcopy(batch.cell.config))
    return SinglePolicy(agent)


def _environment_info(batch: Batch, env: LaneEnv) -> EnvironmentInfo:
    task = batch.cell.task
    return EnvironmentInfo(
        observation_space=deepcopy(env.observation_space),  # the agent's own
        n_actions=env.n_actions,
        discount=float(task.discount or 0.0),
        total_steps=batch.budget.steps,
        stacks_frames=env.stacks_frames,
        actors=batch.budget.actors,
        runs=tuple(run.seed for run in batch.runs),
    )
