"""A run is the same in another process, which shares nothing but the saved state.

A private folder holds what this process writes for the other, and its answer.
"""

import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from uqbench.contract.agent import Agent
from uqbench.registry import local
from uqbench.testing.conformance.agent_runs import (
    SEEDS,
    AgentSubject,
    predictions,
    replay_step,
    same,
    state_of,
)
from uqbench.testing.conformance.check import Failed, Skipped, Vacuous, check, once
from uqbench.testing.worlds import RotatingPixels

TASK, ANSWER = "task.pickle", "answer.pt"
SECONDS = 300.0
UNKNOWN = 3
"""Exit code where the class is of no module that the process can import."""
HASH_SEEDS = ("1", "2")
"""Of the other processes: in each, sets of strings have another order."""

Rest = tuple[list[torch.Tensor], dict[str, torch.Tensor]]
"""Actions from a step on, and predictions at the end."""


@check(AgentSubject, "agent-hash-seed", after=("agent-repeats",))
def hash_seed(subject: AgentSubject) -> None:
    """A run is the same in every process, whatever its PYTHONHASHSEED.

    From the start, with the same outcomes, under two hash seeds.

    Fix:
        No hash(), no id(), and no iteration over sets: sort them.
    """
    _same(subject, 0, "in another process")


@check(AgentSubject, "agent-new-process", level="checkpointable", after=("agent-checkpoint",))
def new_process(subject: AgentSubject) -> None:
    """A run resumes in a new process as in this one.

    From the last of ``stops``, with the same outcomes, under two hash seeds.

    Fix:
        Keep nothing in classes or modules, use no hash() or id(), and save all that a step depends
        on.
    """
    _same(subject, max(subject.stops), f"resumed at step {max(subject.stops)} in another process")


def _same(subject: AgentSubject, first: int, where: str) -> None:
    for answers in _answers(subject):
        if first not in answers:
            raise Skipped("it has no state that another process could resume from")
        actions, predicted = answers[first]
        for t, action in enumerate(actions, first):
            if not torch.equal(action, subject.baseline.actions[t]):
                raise Failed(f"{where}, step {t}'s actions differ")
        if not same(predicted, subject.baseline.predictions):
            raise Failed(f"{where}, the predictions differ")


@once
def _answers(subject: AgentSubject) -> list[dict[int, Rest]]:
    """Each other process's actions and predictions, by the step from which it goes on."""
    trace, agent, answers = subject.baseline, subject.new(), []
    for t in range(max(subject.stops)):
        replay_step(agent, trace, t)
    try:
        seen = replace(trace, agent=None)  # type: ignore[arg-type]
        task = pickle.dumps((replace(subject, world=RotatingPixels), state_of(agent), seen))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Vacuous(f"another process cannot make it: {error}") from error
    with tempfile.TemporaryDirectory(prefix="uqbench-check-") as folder:
        (Path(folder) / TASK).write_bytes(task)
        for seed in HASH_SEEDS:
            done = subprocess.run(
                [sys.executable, "-P", "-m", __name__, folder],
                env=os.environ | {"PYTHONHASHSEED": seed},
                capture_output=True, text=True, check=False, timeout=SECONDS,
            )  # fmt: skip
            if done.returncode == UNKNOWN:
                raise Vacuous(f"another process cannot make it: {done.stderr.strip()[-300:]}")
            if done.returncode:
                raise Failed(f"in another process it fails: {done.stderr.strip()[-300:]}")
            answers.append(torch.load(Path(folder) / ANSWER, weights_only=True))
    return answers


def followed(folder: Path) -> None:
    """The other process: follow the whole trace, and, resumed, the rest of it."""
    for _, load in local.loaders():  # a file's classes are of a module that only it makes
        load()
    try:
        subject, state, trace = pickle.loads((folder / TASK).read_bytes())
    except (ImportError, AttributeError) as error:  # a class of a test
        print(error, file=sys.stderr)
        sys.exit(UNKNOWN)
    answers: dict[int, Rest] = {}
    for first in (0, max(subject.stops)) if state else (0,):
        agent: Agent = subject.new(SEEDS)
        if first:
            agent.load_state_dict(state)
        taken = [replay_step(agent, trace, t) for t in range(first, len(trace.stream))]
        answers[first] = taken, predictions(agent, trace.questions)
    torch.save(answers, folder / ANSWER)


if __name__ == "__main__":
    torch.set_num_threads(1)
    followed(Path(sys.argv[1]))
