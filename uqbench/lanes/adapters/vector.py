"""Gymnasium's vector environments: used as lanes, and made of lanes.

Both begin the next episode in the step that ends one (Gymnasium's ``SAME_STEP``), as a
:class:`uqbench.contract.environment.LaneEnv` does, whatever the vector environment does by itself.
One that begins it a step later (``NEXT_STEP``) cannot do that for one lane without stepping all
others, and is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.contract.errors import UqbenchError
from uqbench.contract.wording import count
from uqbench.lanes.adapters import returned
from uqbench.lanes.adapters.gymnasium_lanes import count_of
from uqbench.lanes.adapters.returned import Call

Results = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Any]


def _stepped(env: VectorEnv[Any, Any, Any], actions: NDArray[np.int64]) -> Results:
    """The outcome of a vector environment's step; the rewards and ends are copies.

    Raises:
        UqbenchError: it is of another form.
    """
    call, shape = Call(env, None, 0), (len(actions),)
    obs, reward, terminated, truncated, infos = returned.parts(call, env.step(actions))
    rewards = returned.array(call, "rewards", reward, returned.NUMBERS, shape).copy()
    ends = (("terminated", terminated), ("truncated", truncated))
    own = [returned.array(call, name, of, returned.TRUTHS, shape).copy() for name, of in ends]
    return obs, rewards, own[0], own[1], infos


class VectorLanes(LaneEnv):
    """A ``gymnasium.vector.VectorEnv`` as lanes, environment ``i`` reset with ``seeds[i]``.

    Reads ``infos["events"]`` and ``infos["action_mask"]``, as :class:`GymnasiumLanes` does of
    single environments. It is not saved: runs have no checkpoints.

    Args:
        env: with one sub-environment per seed. Unless its autoreset mode is ``SAME_STEP``, ended
            episodes are followed by ``reset(options={"reset_mask": …})`` at once, which Gymnasium's
            ``SyncVectorEnv`` and ``AsyncVectorEnv`` take in each mode.
        seeds: of the lanes.
        time_limit: for it, too, the environment must take that.
        events: names that ``infos["events"]`` counts.
        device: where the tensors are.

    Raises:
        UqbenchError: no autoreset mode, ``NEXT_STEP`` of another class, another number of
            environments or space of actions; in ``step``, a reset of some environments was one of
            others, too.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        events: Sequence[str] = (),
        device: torch.device | None = None,
    ) -> None:
        mode = env.metadata.get("autoreset_mode")
        if not isinstance(mode, AutoresetMode):
            raise UqbenchError(
                f"expected a vector environment whose metadata has a gymnasium AutoresetMode as "
                f"'autoreset_mode'; {type(env).__name__} has {mode}"
            )
        own = isinstance(env.unwrapped, SyncVectorEnv | AsyncVectorEnv)
        if mode is AutoresetMode.NEXT_STEP and not own:
            raise UqbenchError(
                f"{type(env).__name__} has AutoresetMode.NEXT_STEP: it cannot begin the next "
                f"episode of one lane without stepping the others; expected SAME_STEP, or an "
                f"environment of one (EnvironmentSpec without vector=True)"
            )
        if env.num_envs != len(seeds):
            raise UqbenchError(
                f"expected {count(len(seeds), 'environment')}, one a seed; got {env.num_envs}"
            )
        self.n_actions = count_of(env.single_action_space)
        self.observation_space = env.single_observation_space
        returned.check_space(env, self.observation_space)
        self._env, self._seeds, self._time_limit = env, list(seeds), time_limit
        self._resets_itself = mode == AutoresetMode.SAME_STEP
        self._events, self._device = tuple(events), device or torch.device("cpu")
        self._length = np.zeros(len(seeds), np.int64)
        self.stands_for = env.unwrapped

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """Reset every environment with its own seed."""
        self._length[:] = 0
        each: Any = np.array(self._seeds, object)  # some take a list, ale_py's an array
        obs, infos = returned.parts(Call(self._env, None), self._env.reset(seed=each))
        return self._tensor(obs), self._tensor(_masks(infos))

    def step(self, action: Tensor) -> Outcome:
        """Step every environment, and begin anew where an episode ended."""
        obs, reward, terminated, truncated, infos = _stepped(self._env, action.cpu().numpy())
        ended = terminated | truncated
        final, last = np.array(obs), infos  # copies: the environment overwrites its own
        if self._resets_itself and ended.any():
            for lane in np.flatnonzero(ended):
                final[lane] = infos["final_obs"][lane]
            last = infos.get("final_info", {})
        events, none = {}, np.zeros(len(ended), np.float32)
        for name in self._events:
            now, before = (np.asarray(i.get("events", {}).get(name, none)) for i in (infos, last))
            events[name] = self._tensor(np.where(ended, before, now).astype(np.float32))
        next_valid = valid = _masks(infos)
        if valid is not None and (ends := _masks(last)) is not None:
            next_valid = np.where(ended[:, None], ends, valid)
        self._length += 1
        late = np.zeros_like(ended)
        if self._time_limit is not None:
            late = (self._length >= self._time_limit.steps) & ~ended
            terminated |= late & (self._time_limit.kind == "terminal")
            truncated |= late & (self._time_limit.kind == "truncation")
        begins = late if self._resets_itself else ended | late
        following = np.array(obs)
        if begins.any():
            first, infos = self._env.reset(options={"reset_mask": begins})
            if not np.array_equal(first[~begins], following[~begins]):
                raise UqbenchError(
                    f"{type(self._env).__name__} has {self._env.metadata['autoreset_mode']}, and "
                    f'reset(options={{"reset_mask": …}}) reset environments outside of the mask; '
                    f"expected one of gymnasium's, or AutoresetMode.SAME_STEP"
                )
            following[begins] = first[begins]
            begun = _masks(infos)
            if valid is not None and begun is not None:
                valid = np.where(begins[:, None], begun, valid)
        self._length[ended | late] = 0
        made = np.asarray(reward, np.float32), terminated, truncated, final, following
        own: list[Any] = [*map(self._tensor, (*made, next_valid, valid)), events]
        return Outcome(*own)

    def _tensor(self, array: NDArray[Any] | None) -> Any:
        if array is None:
            return None
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


def _masks(infos: Mapping[str, Any]) -> NDArray[np.bool_] | None:
    masks = infos.get("action_mask")
    return None if masks is None else np.asarray(masks).astype(bool)


class LaneVectorEnv(VectorEnv[NDArray[Any], NDArray[np.int64], NDArray[Any]]):
    """Lanes as a Gymnasium vector environment, for any other library.

    When an episode ends, the next one begins in the same step; ``infos`` then has ``final_obs``.
    Counts of events are ``infos["events"]``, valid actions ``infos["action_mask"]``. Returned
    arrays are copies.

    Args:
        make: from seeds to lanes, on the CPU.
        num_envs: number of environments.
    """

    metadata = {  # noqa: RUF012 (as Gymnasium has it)
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": [],
    }

    def __init__(self, make: Callable[[Sequence[int]], LaneEnv], num_envs: int = 1) -> None:
        self.num_envs = num_envs
        self._make = make
        self._draws = np.random.default_rng()
        self.lanes = make(self._drawn())
        self._begun = False
        self.single_observation_space = self.lanes.observation_space
        self.single_action_space = spaces.Discrete(self.lanes.n_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: environment ``i`` gets ``seed + i``, or ``seed[i]``; None continues the random
                streams, which start from fresh entropy.
            options: none are supported.

        Raises:
            ValueError: the number of seeds is wrong, or an option is given.
        """
        if options:
            raise ValueError(f"reset takes no options; got {', '.join(options)}")
        if seed is not None:
            seeds = range(seed, seed + self.num_envs) if isinstance(seed, int) else seed
            if len(seeds) != self.num_envs:
                raise ValueError(
                    f"expected {self.num_envs} seeds, one per environment; got {seeds}"
                )
            self._draws = np.random.default_rng(list(seeds))
            self.lanes = self._make(list(seeds))
        elif self._begun:
            return self._first(*self.continued())
        self._begun = True
        return self._first(*self.lanes.reset())

    def continued(self) -> tuple[Tensor, Tensor | None]:
        """Begin new episodes without a seed: by default new lanes, with seeds from the last ones.

        Where random streams can go on, override it.
        """
        self.lanes = self._make(self._drawn())
        return self.lanes.reset()

    def _first(self, obs: Tensor, valid: Tensor | None) -> tuple[NDArray[Any], dict[str, Any]]:
        return self._observed(obs), self._info({}, valid)

    def step(self, actions: NDArray[np.int64]) -> Results:
        """Take an action in every environment."""
        outcome = self.lanes.step(torch.as_tensor(actions).clone())
        terminated, truncated = self._copied(outcome.terminated), self._copied(outcome.truncated)
        infos = self._info(outcome.events, outcome.valid)
        over = terminated | truncated
        if over.any():
            final_obs = self._observed(outcome.next_obs)
            final = np.full(self.num_envs, None, object)
            for i in np.flatnonzero(over):
                final[i] = final_obs[i]
            infos |= {"final_obs": final, "_final_obs": over}
            infos |= {"final_info": self._final_info(outcome, over), "_final_info": over.copy()}
        rewards = outcome.reward.numpy().astype(np.float64)
        return self._observed(outcome.obs), rewards, terminated, truncated, infos

    def _final_info(self, outcome: Outcome, over: NDArray[np.bool_]) -> dict[str, Any]:
        """The infos of episodes that ended."""
        return self._info(outcome.events, outcome.next_valid)

    def _info(self, events: Mapping[str, Tensor], valid: Tensor | None) -> dict[str, Any]:
        info: dict[str, Any] = {}
        if events:
            info["events"] = {name: self._copied(n) for name, n in events.items()}
        if valid is not None:
            info["action_mask"] = self._copied(valid)
        return info

    def _observed(self, obs: Tensor) -> NDArray[Any]:
        """Observations in the form of the space."""
        return self._copied(obs)

    def _drawn(self) -> list[int]:
        return [int(seed) for seed in self._draws.integers(2**31, size=self.num_envs)]

    def _copied(self, values: Tensor) -> NDArray[Any]:
        copy: NDArray[Any] = values.numpy().copy()
        return copy
