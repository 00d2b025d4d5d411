"""A run is equal in another process, which shares nothing but the saved state."""

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import torch

from uqbench.registry import local
from uqbench_testing.conformance.agent_runs import AgentSubject, state_of
from uqbench_testing.conformance.check import Vacuous, applies, check, expect, once
from uqbench_testing.worlds import RotatingPixels

SECONDS = 300.0
UNKNOWN = 3
"""Exit code where the class is of no module that the process can import."""
HASH_SEEDS = ("1", "2")
"""Hash seeds of the other processes: in each, sets of strings have another order."""


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
    for answer in _answers(subject):
        applies(str(first) in answer, "it has no state that another process could resume from")
        expect(not answer[str(first)], f"{where}, {answer[str(first)]}")


@once
def _answers(subject: AgentSubject) -> list[dict[str, str]]:
    """The first difference in each other process, by the step from which it goes on."""
    trace, agent, answers = subject.baseline, subject.new(), []
    for t in range(max(subject.stops)):
        trace.replay(agent, t)
    try:
        seen = replace(trace, agent=None)  # type: ignore[arg-type]
        task = pickle.dumps((replace(subject, world=RotatingPixels), state_of(agent), seen))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Vacuous(f"another process cannot make it: {error}") from error
    for seed in HASH_SEEDS:
        command, env = [sys.executable, "-P", "-m", __name__], os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=env, input=task, capture_output=True, timeout=SECONDS)
        said = done.stderr.decode(errors="replace").strip()[-300:]
        expect(done.returncode != UNKNOWN, f"another process cannot make it: {said}", Vacuous)
        expect(done.returncode == 0, f"in another process it fails: {said}")
        answers.append(json.loads(done.stdout.splitlines()[-1]))
    return answers


def follow() -> None:
    """Follow the whole trace in another process, and, resumed, the rest of it."""
    torch.set_num_threads(1)
    for _, load in local.loaders():  # a file's classes are of a module that only it makes
        load()
    try:
        subject, state, trace = pickle.load(sys.stdin.buffer)
    except (ImportError, AttributeError) as error:  # a class of a test
        print(error, file=sys.stderr)
        sys.exit(UNKNOWN)
    answers = {0: trace.follow(subject.new(), 0)}
    if state is not None:
        resumed, stop = subject.new(), max(subject.stops)
        resumed.load_state_dict(state)
        answers[stop] = trace.follow(resumed, stop)
    print(json.dumps(answers))


if __name__ == "__main__":
    follow()
