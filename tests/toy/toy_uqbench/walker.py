"""The walker."""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from toy_uqbench import WalkerConfig
from uqbench.agent import Agent, EnvironmentInfo, Step, Uncertainty
from uqbench.lanes import Uniform


class Walker(Agent):
    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: WalkerConfig,
        device: torch.device,
    ) -> None:
        self.config = config
        if "TOY_ROW_STACK" in os.environ:  # as NumPy 2.5 lacks row_stack
            np.row_stack_of_before([seeds])
        self.t = 0
        self.uniform = Uniform(seeds, "walk", (info.actors,), device)
        self.walked = torch.zeros(len(seeds), device=device)
        self.hurt = self.uniform.at(0)[:, 0] < config.only_below
        if "TOY_GPUS" in os.environ:
            with Path(os.environ["TOY_GPUS"]).open("a") as file:
                print(os.environ.get("CUDA_VISIBLE_DEVICES"), file=file)

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        action = (self.uniform.at(self.t) < self.config.forward).long()
        if self.config.wrong == "range":
            return torch.where(self.hurt[:, None], 7, action)
        return action[:, 0] if self.config.wrong == "shape" else action

    def observe(self, step: Step) -> None:
        pace = os.environ.get("TOY_PACE")  # a file, so that a test can change it meanwhile
        if seconds := float(Path(pace).read_text()) if pace else self.config.step_seconds:
            time.sleep(seconds)
        if "TOY_STEPS" in os.environ:
            with Path(os.environ["TOY_STEPS"]).open("a") as file:
                print(self.t, file=file)
        if self.config.fails(self.config.raise_at, self.t):
            raise RuntimeError("the walker stumbled")
        if self.config.fails(self.config.die_at, self.t):
            os.kill(os.getpid(), signal.SIGKILL)
        self.walked += (step.reward * self.uniform.at(self.t)).sum(-1)
        self.t += 1

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        return torch.ones(obs.shape[:2], dtype=torch.int64)

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        mean = torch.zeros(*obs.shape[:2], 2)
        if self.config.wrong == "values":
            mean[self.hurt] = torch.nan
        return Uncertainty(mean=mean)

    def metrics(self) -> Mapping[str, Tensor]:
        return {"uniform": self.uniform.at(self.t)[:, 0], "walked": self.walked}

    def state_dict(self) -> dict[str, Any]:
        return {"t": self.t, "walked": self.walked}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.t = state["t"]
        self.walked = state["walked"]
