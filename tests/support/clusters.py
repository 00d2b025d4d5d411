"""Runs of the toy suite on a real cluster, as tests start and follow them."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOY = Path(__file__).parents[1] / "toy"
STEPS = 600
"""Of a run of the toy suite's task ``long``."""
WAIT_SECONDS = 900.0
MINE = """
import torch
from uqbench.contract.agent import Agent

class Mine(Agent):
    def __init__(self, info, seeds, config, device):
        pass
    def act(self, obs, valid=None):
        return torch.ones(obs.shape[:2], dtype=torch.int64)
    def observe(self, step):
        pass
    def policy(self, obs, valid=None):
        return self.act(obs)
"""
"""A file with an agent."""


def variables(executor: str, **more: object) -> dict[str, str]:
    """The environment of a command with the toy plugin and an executor; None is left out."""
    found = os.environ | {"PYTHONPATH": str(TOY), "COLUMNS": "200"}
    found["UQBENCH_PLUGINS"] = f"toy,builtin,{executor}"
    return found | {name: str(value) for name, value in more.items() if value is not None}


def records(out: Path) -> dict[str, dict[str, Any]]:
    """Records of runs, by ``TASK/METHOD/SEED``."""
    found = {}
    for path in sorted(out.glob("toy/*/*/*/*/run.json")):
        record = json.loads(path.read_text())
        found[f"{path.parts[-4]}/{path.parts[-3]}/{record['identity']['seed']}"] = record
    return found


def results(out: Path) -> dict[str, str]:
    """Digests of the results of runs."""
    return {name: record["digests"]["results"] for name, record in records(out).items()}


def steps_taken(log: Path) -> list[int]:
    """Steps in the order in which some process took them."""
    return [int(step) for step in log.read_text().split()] if log.exists() else []


def wait_for(condition: Callable[[], Any], process: "subprocess.Popen[str] | None" = None) -> None:
    """Wait, as long as a process goes on."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.05)
