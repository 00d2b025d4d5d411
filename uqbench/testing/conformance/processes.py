"""That a run resumes in another process, which shares nothing but the saved state.

What this process writes for the other, and what that answers, are files of its own in a folder
that only this user can read.
"""

from __future__ import annotations

import pickle
import pkgutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from uqbench.testing.conformance.agent_runs import (
    CPU,
    SEEDS,
    AgentSubject,
    Trace,
    predictions,
    replay_step,
    same,
)
from uqbench.testing.conformance.agents import SOUND
from uqbench.testing.conformance.check import Failed, Skipped, check

TASK, ANSWER = "task.pickle", "answer.pt"
SECONDS = 300.0


@check(
    AgentSubject,
    "agent-new-process",
    level="checkpointable",
    after=(*SOUND, "agent-repeats", "agent-buffers", "agent-pure", "agent-checkpoint"),
)
def new_process(subject: AgentSubject) -> None:
    """A run resumes in a new process as in this one.

    From the last of ``stops``, with the same outcomes.

    Fix:
        Keep nothing in classes or modules, use no hash() or id(), and save all that a step depends
        on.
    """
    trace, stop = subject.baseline, max(subject.stops)
    if subject.recipe is None:
        raise Skipped("another process cannot make it: it is not an installed agent")
    agent = subject.make(SEEDS, CPU)
    for t in range(stop):
        replay_step(agent, trace, t)
    with tempfile.TemporaryDirectory(prefix="uqbench-check-") as folder:
        task = Path(folder) / TASK
        try:
            seen = trace.actions, trace.stream, trace.questions
            task.write_bytes(pickle.dumps((subject.recipe, stop, agent.state_dict(), seen)))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise Skipped(f"another process cannot make it: {error}") from error
        command = [sys.executable, "-P", "-m", __name__, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        if done.returncode:
            raise Failed(f"in another process it fails: {done.stderr.strip()[-300:]}")
        answer = torch.load(Path(folder) / ANSWER, weights_only=True)
    for t, action in enumerate(answer["actions"], stop):
        if not torch.equal(action, trace.actions[t]):
            raise Failed(f"resumed at step {stop} in another process, step {t}'s actions differ")
    if not same(answer["predictions"], trace.predictions):
        raise Failed(f"resumed at step {stop} in another process, the predictions differ")


def resumed(folder: Path) -> None:
    """The other process: make the agent, restore it, and follow the rest of the trace."""
    recipe, stop, state, seen = pickle.loads((folder / TASK).read_bytes())
    factory, info, config = recipe
    actions, stream, questions = seen
    make: Any = pkgutil.resolve_name(factory) if isinstance(factory, str) else factory
    agent = make(info, list(SEEDS), config, CPU)
    agent.load_state_dict(state)
    trace = Trace(agent, actions, [], stream, questions, {})
    taken = [replay_step(agent, trace, t) for t in range(stop, len(stream))]
    answer = {"actions": taken, "predictions": predictions(agent, questions)}
    torch.save(answer, folder / ANSWER)


if __name__ == "__main__":
    torch.set_num_threads(1)
    resumed(Path(sys.argv[1]))
