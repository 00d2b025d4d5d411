"""How every benchmark here measures.

Contestants do the same work in turn, each time in a fresh process on one core with one thread;
every other round goes backwards, so that a drift of the machine meets all alike. A ratio is taken
within a round; what is printed is the median over the rounds, and the range.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
PACKAGES = (
    *("uqbench", "uqbench-dqn", "uqbench-highway", "uqbench-minatar", "uqbench-uadqn"),
    *("torch", "numpy", "numba", "highway-env"),
    *("minatar", "gymnasium", "stable-baselines3", "sb3-contrib", "jax", "gymnax", "optax"),
)


@dataclass(frozen=True)
class Contestant:
    """One way to do the work.

    Attributes:
        measure: does the work in this process; gets the options and the round, returns steps/s.
        environment: variables of its process, set before anything is imported.
    """

    measure: Callable[[argparse.Namespace, int], float]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ratio:
    """How many times as fast one contestant is as others: as the fastest of them in each round.

    Attributes:
        name: what tables call it.
        of: the contestant.
        to: those it is compared with.
        at_least: the target, or None.
        at_most: the target, or None.
    """

    name: str
    of: str
    to: Sequence[str]
    at_least: float | None = None
    at_most: float | None = None

    def values(self, rates: Mapping[str, Sequence[float]]) -> list[float]:
        """The ratio in each round."""
        rounds = zip(rates[self.of], *(rates[name] for name in self.to), strict=True)
        return [own / max(others) for own, *others in rounds]

    @property
    def target(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return "" if self.at_most is None else f"≤ {self.at_most:g}"

    def met(self, median: float) -> bool:
        return (self.at_least or 0) <= median <= (self.at_most or float("inf"))


_clock = time.perf_counter


def seconds() -> float:
    """The clock that contestants are timed with."""
    return _clock()


def use_clock(name: str) -> None:
    """Time with ``wall`` or ``cpu`` from now on."""
    global _clock
    _clock = time.process_time if name == "cpu" else time.perf_counter


def arguments(description: str, repeats: int = 5) -> argparse.ArgumentParser:
    """The options that all benchmarks have."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--repeats", type=positive, default=repeats, help="rounds")
    parser.add_argument("--json", type=Path, help="a file for all numbers, versions and the load")
    parser.add_argument("--core", type=int, default=max(_cores()), help="where to measure")
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu counts only the time that the process ran: for a machine that others use",
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)  # name of a contestant: measure it here
    parser.add_argument("--round", type=int, default=0, help=argparse.SUPPRESS)
    return parser


def take_turns(
    options: argparse.Namespace, contestants: Mapping[str, Contestant]
) -> dict[str, list[float]]:
    """Measure each in every round; in a contestant's process, measure that one and end."""
    if options.one:
        use_clock(options.clock)
        print(contestants[options.one].measure(options, options.round))
        sys.exit()
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(options.repeats):
        names = list(contestants)
        for name in names if turn % 2 == 0 else reversed(names):
            rates[name].append(apart(name, turn, contestants[name].environment, options.core))
            said = f"{turn + 1}/{options.repeats} {name}: {rates[name][-1]:,.1f}, load {_load()}"
            print(said, file=sys.stderr, flush=True)
    return rates


def report(
    options: argparse.Namespace, rates: Mapping[str, Sequence[float]], ratios: Sequence[Ratio]
) -> None:
    """Print the tables; write the file if one is asked for."""
    print(rate_table(rates))
    if ratios:
        print(f"\n{ratio_table(ratios, rates)}")
    if options.json:
        found = {
            "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
            "rates": rates,
            "ratios": {
                ratio.name: {"target": ratio.target, "values": ratio.values(rates)}
                for ratio in ratios
            },
            "machine": machine(),
        }
        options.json.write_text(json.dumps(found, indent=2) + "\n")


def apart(name: str, turn: int, environment: Mapping[str, str], core: int) -> float:
    """Measure a contestant in a process of its own, on one core."""
    command = [sys.executable, *sys.argv, "--one", name, "--round", str(turn)]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})  # inherited
    done = subprocess.run(
        command, env={**os.environ, **ONE_THREAD, **environment}, stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        sys.exit(f"error: measuring {name} failed, see above")
    return float(done.stdout.split()[-1])


def rate_table(rates: Mapping[str, Sequence[float]]) -> str:
    """Steps/s by contestant, in Markdown."""
    lines = ["| | steps/s: median | min | max |", "| --- | ---: | ---: | ---: |"]
    for name, values in rates.items():
        cells = [f"{value:,.0f}" for value in (statistics.median(values), min(values), max(values))]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return "\n".join(lines)


def ratio_table(ratios: Sequence[Ratio], rates: Mapping[str, Sequence[float]]) -> str:
    """Ratios and their targets, in Markdown."""
    head = "| times as fast | median | min | max | target | met |"
    lines = [head, "| --- | ---: | ---: | ---: | ---: | --- |"]
    for ratio in ratios:
        values = ratio.values(rates)
        median = statistics.median(values)
        cells = [f"{value:.3g}" for value in (median, min(values), max(values))]
        verdict = ("yes" if ratio.met(median) else "no") if ratio.target else ""
        lines.append(f"| {' | '.join([ratio.name, *cells, ratio.target, verdict])} |")
    return "\n".join(lines)


def machine() -> dict[str, Any]:
    """What it was measured on and with."""
    return {
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": _load(),
    }


def positive(text: str) -> int:
    """An argument that counts something."""
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {value}")
    return value


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """The processor's name, where the system tells it."""
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _load() -> float | None:
    """The load average of the last minute, where the system gives one."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None
