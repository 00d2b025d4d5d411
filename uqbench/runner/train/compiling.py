"""Execution of an agent's update: from Python, compiled, captured.

``eager`` runs torch's operations one by one. ``compiled`` passes the methods that an agent names in
``compiled`` to ``torch.compile``; on a GPU the whole step, including acting and the environment, is
also captured: recorded once for each of the agent's phases, and replayed. ``native`` has an agent
replace its methods by kernels of its own; where it has none it is compiled.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pkgutil import resolve_name

import torch

from uqbench.contract.agent import Agent
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.contract.errors import UqbenchError
from uqbench.lanes import Capturable
from uqbench.lanes.execution import NUMERICS

WARM_UP = 3
"""Steps of a phase that run from Python before its capture: they compile and allocate."""

AGENTS = 64
"""Agents of one kind that a process may have compiled at once."""

Graph = Callable[[], None]
"""Repeats on the tensors what was captured."""

Capture = Callable[[Callable[[], None]], Graph]
"""Records what a function does to tensors without doing it."""


@contextmanager
def initial_weights(numerics: str) -> Iterator[None]:
    """Have layers make their initial weights as a budget's numerics do.

    Raises:
        UqbenchError: native ones need Numba, which is not there.
    """
    if numerics == "native" and find_spec("numba") is None:
        raise UqbenchError(
            "numerics = 'native' needs numba, which is not installed here: pip install "
            "numba, or use a budget with numerics = 'eager'"
        )
    token = NUMERICS.set(numerics)
    try:
        yield
    finally:
        NUMERICS.reset(token)


def execute_as(agent: Agent, numerics: str, notify: Callable[[str], None]) -> None:
    """Have an agent's update executed as a budget says; ``notify`` is told what is not native."""
    if numerics == "native":
        function = str(vars(type(agent)).get("native", ""))  # a child may compute something else
        reason = f"{type(agent).__name__} has no native step"
        if function and not (reason := resolve_name(function)(agent)):
            return
        notify(f"numerics = 'native': compiled instead: {reason}")
    if numerics != "eager":
        compile_agent(agent)


def compile_agent(agent: Agent) -> None:
    """Replace the methods that the agent names by compiled ones.

    Raises:
        UqbenchError: this torch cannot compile functions that take gradients.
    """
    from torch._dynamo import config  # takes a second to import

    if not hasattr(config, "trace_autograd_ops"):
        raise UqbenchError(
            f"numerics = 'compiled' needs a newer torch than {torch.__version__}, such as 2.13; "
            f"update it, or use a budget with numerics = 'eager'"
        )
    config.trace_autograd_ops = True
    config.recompile_limit = AGENTS  # one version for each agent whose steps are interleaved here
    for name in agent.compiled if isinstance(agent, Capturable) else ():
        setattr(agent, name, torch.compile(getattr(agent, name), fullgraph=True, dynamic=False))


def can_be_captured(agent: object, env: LaneEnv, device: torch.device) -> bool:
    """Whether the steps of an agent and its environment can be replayed on the device alone."""
    return device.type == "cuda" and env.capturable and isinstance(agent, Capturable)


def capture_of(
    agent: object, env: LaneEnv, device: torch.device, numerics: str
) -> "Capture | None":
    """A capture of the steps, where a budget's numerics and the device have one."""
    captured = numerics != "eager" and can_be_captured(agent, env, device)
    return cuda_graphs() if captured else None


def replayed(step: Callable[[], None], capture: Capture) -> Callable[[], None]:
    """A step that is taken from Python a few times, then captured, and replayed from then on."""
    first, graphs = [step] * WARM_UP, list[Graph]()

    def advance() -> None:
        if first:
            return first.pop()()
        if not graphs:
            graphs.append(capture(step))
        return graphs[0]()

    return advance


class CapturedSteps:
    """Takes steps of all lanes; each phase is captured once and replayed.

    Args:
        step: takes a step from Python; reads and writes tensors at fixed addresses.
        agent: has phases and a clock.
        capture: records a step.
    """

    def __init__(self, step: Callable[[], Outcome], agent: Capturable, capture: Capture) -> None:
        self._step, self._agent, self._clock, self._capture = step, agent, agent.clock, capture
        self._taken: Counter[Hashable] = Counter()
        self._graphs: dict[Hashable, tuple[Graph, Outcome]] = {}

    def __call__(self) -> Outcome:
        """Take a step; the outcome's tensors are overwritten by the next of its phase."""
        phase = self._agent.phase(self._clock.t)
        if phase not in self._graphs:
            if self._taken[phase] < WARM_UP:
                self._taken[phase] += 1
                return self._step()
            outcomes: list[Outcome] = []
            with self._clock.capturing():
                graph = self._capture(lambda: outcomes.append(self._step()))
            self._graphs[phase] = graph, outcomes[-1]
        graph, outcome = self._graphs[phase]
        graph()
        self._clock.follow()
        return outcome


def cuda_graphs() -> Capture:
    """Capture as CUDA graphs that share their memory; to be used on a dedicated stream."""
    pool = torch.cuda.graph_pool_handle()

    def capture(step: Callable[[], None]) -> Graph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, stream=torch.cuda.current_stream()):
            step()
        return graph.replay

    return capture
