"""Gymnasium environments, one per lane, as a LaneEnv."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.wrappers import FrameStackObservation
from torch import Tensor

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.contract.errors import UqbenchError, did_you_mean, see
from uqbench.lanes.adapters import returned
from uqbench.lanes.adapters.returned import Call


class GymnasiumLanes(LaneEnv):
    """One Gymnasium environment per lane, batched.

    Reads ``info["events"]`` (a mapping of name to count), where ``events`` are declared, and
    ``info["action_mask"]`` (``[A]``, true where an action is valid) where the environment provides
    one.

    With ``has_state_dict`` an environment is saved by its own ``state_dict()`` and
    ``load_state_dict(state)``, of plain values, for itself and what it wraps. Without it the
    actions since ``reset`` are kept, one byte per step and lane, and replayed on a copy; a digest
    of all observations, rewards, episode ends and valid actions verifies that the replay was exact.

    Raises:
        UqbenchError: the action space is not ``Discrete`` starting at 0, observations have no fixed
            shape, or ``has_state_dict`` is not what the environment, or its outermost wrapper, has;
            in ``reset`` and ``step``: something was returned in another form.
    """

    def __init__(
        self,
        make: Callable[[], gymnasium.Env[Any, Any]],
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        events: Sequence[str] | None = None,
        device: torch.device | None = None,
        *,
        has_state_dict: bool = False,
    ) -> None:
        self._envs: list[Any] = [make() for _ in seeds]
        self._seeds, self._time_limit = list(seeds), time_limit
        self._events, self._counts_all = tuple(events or ()), events is not None
        self._device = device or torch.device("cpu")
        self.n_actions = count_of(self._envs[0].action_space)
        self.observation_space = self._envs[0].observation_space
        returned.check_space(self._envs[0], self.observation_space)
        outer = self._envs[0]  # stacks frames, an episode's first one to begin with
        stacks = isinstance(outer, FrameStackObservation)
        self.stacks_frames = stacks and outer.padding_type == "reset"
        self._length = np.zeros(len(self._envs), np.int64)
        self._valid: np.ndarray[Any, Any] | None = None
        if has_state_dict != _has_state(self._envs[0]):
            raise UqbenchError(_wrongly_declared(self._envs[0], has_state_dict))
        self.has_state_dict = has_state_dict
        self._action_type = np.uint8 if self.n_actions <= 256 else np.int32
        self._actions = bytearray()  # since reset, [T, L]
        self._seen = b""  # digest of everything the environments returned since reset

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """Reset every lane with its own seed."""
        begun = [self._begin(lane, seed) for lane, seed in enumerate(self._seeds)]
        obs, infos = zip(*begun, strict=True)
        self._valid, self._seen, first_obs = self._masks(infos), b"", np.stack(obs)
        self._actions.clear()
        self._keep(first_obs, self._valid)
        return self._tensor(first_obs), self._tensor(self._valid)

    def _begin(self, lane: int, seed: int | None = None) -> tuple[np.ndarray[Any, Any], Any]:
        """The first observation of a lane's next episode, and its info."""
        env = self._envs[lane]
        call = Call(env, lane)
        given = env.reset() if seed is None else env.reset(seed=seed)
        obs, info = returned.parts(call, given)
        self._length[lane] = 0
        return returned.observation(call, obs, self.observation_space), info

    @property
    def stands_for(self) -> object:
        """The first of the environments."""
        return self._envs[0].unwrapped

    def step(self, action: Tensor) -> Outcome:
        """Step every lane; a lane whose episode ended is reset at once."""
        lanes, chosen = len(self._envs), action.tolist()
        reward = np.zeros(lanes, np.float32)
        terminated, truncated = np.zeros(lanes, bool), np.zeros(lanes, bool)
        events = {name: np.zeros(lanes, np.float32) for name in self._events}
        final_obs, final_infos, next_obs, next_infos = [], [], [], []
        for i, (env, a) in enumerate(zip(self._envs, chosen, strict=True)):
            if not 0 <= a < self.n_actions or (self._valid is not None and not self._valid[i, a]):
                raise UqbenchError(
                    f"the agent chose action {a}; expected a valid one of 0 to {self.n_actions - 1}"
                )
            call = Call(env, i, int(self._length[i]))
            seen, *outcome, info = returned.parts(call, env.step(a))
            obs = returned.observation(call, seen, self.observation_space)
            reward[i] = returned.array(call, "reward", outcome[0], returned.NUMBERS, ())
            terminated[i] = returned.array(call, "terminated", outcome[1], returned.TRUTHS, ())
            truncated[i] = returned.array(call, "truncated", outcome[2], returned.TRUTHS, ())
            self._length[i] += 1
            if self._time_limit is not None and self._length[i] >= self._time_limit.steps:
                if self._time_limit.kind == "terminal":
                    terminated[i] = True
                elif not terminated[i]:
                    truncated[i] = True
            counted = info.get("events", {})
            for name in self._events:
                count = counted.get(name, 0)
                events[name][i] = returned.array(call, name, count, returned.NUMBERS, ())
            if self._counts_all and not counted.keys() <= set(self._events):
                raise UqbenchError(_undeclared(env, counted, self._events))
            final_obs.append(obs)
            final_infos.append(info)
            if terminated[i] or truncated[i]:
                obs, info = self._begin(i)
            next_obs.append(obs)
            next_infos.append(info)
        self._valid, final_valid = self._masks(next_infos), self._masks(final_infos)
        final, following = np.stack(final_obs), np.stack(next_obs)
        if not self.has_state_dict:
            self._actions += np.array(chosen, self._action_type).tobytes()
            self._keep(reward, terminated, truncated, final, following, final_valid, self._valid)
        made = reward, terminated, truncated, final, following, final_valid, self._valid
        counts = {name: self._tensor(count) for name, count in events.items()}
        own: list[Any] = [*map(self._tensor, made), counts]
        return Outcome(*own)

    def state_dict(self) -> dict[str, Any]:
        """The environments' own states, or the actions that lead to them.

        Raises:
            Exception: whatever an environment that cannot be saved raises.
        """
        if not self.has_state_dict:
            actions = np.frombuffer(bytearray(self._actions), self._action_type)
            actions = actions.reshape(-1, len(self._envs))
            return {"actions": torch.from_numpy(actions), "digest": self._seen.hex()}
        return {
            "envs": [env.state_dict() for env in self._envs],
            "length": torch.from_numpy(self._length.copy()),
            "valid": None if self._valid is None else torch.from_numpy(self._valid),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``.

        Raises:
            UqbenchError: replaying the actions does not reproduce what the environments returned.
        """
        if not self.has_state_dict:
            self._replay(state["actions"], state["digest"])
            return
        for env, own in zip(self._envs, state["envs"], strict=True):
            env.load_state_dict(own)
        self._length = state["length"].numpy().copy()
        self._valid = None if state["valid"] is None else state["valid"].numpy().copy()

    def _replay(self, actions: Tensor, digest: str) -> None:
        name = type(self._envs[0].unwrapped).__name__
        self.reset()
        try:
            for taken in actions:
                self.step(taken.long())
        except UqbenchError as error:
            raise UqbenchError(f"{name} does not replay: {error}{see('not-replayable')}") from error
        if self._seen.hex() != digest:
            raise UqbenchError(
                f"{name} does not replay: with the same seeds and actions its observations, "
                f"rewards or episode ends differ. Let it draw from self.np_random alone, "
                f"or give it state_dict() and load_state_dict(state), with has_state_dict=True"
                f"{see('not-replayable')}"
            )

    def _keep(self, *seen: np.ndarray[Any, Any] | None) -> None:
        """Add what the environments returned to the digest, unless they save their own state."""
        if not self.has_state_dict:
            digest = sha256(self._seen)
            for array in seen:
                digest.update(b"" if array is None else np.ascontiguousarray(array).data)
            self._seen = digest.digest()

    def _masks(self, infos: Sequence[Any]) -> np.ndarray[Any, Any] | None:
        """Valid actions of each lane; without a mask all are valid."""
        if all("action_mask" not in info for info in infos):
            return None
        masks = np.ones((len(infos), self.n_actions), bool)
        for lane, info in enumerate(infos):
            if "action_mask" in info:
                call = Call(self._envs[lane], lane, int(self._length[lane]))
                given, shape = info["action_mask"], (self.n_actions,)
                masks[lane] = returned.array(call, "mask", given, returned.MASKS, shape)
        return masks

    def _tensor(self, array: np.ndarray[Any, Any] | None) -> Any:
        return None if array is None else torch.from_numpy(array).to(self._device)


def count_of(space: gymnasium.Space[Any]) -> int:
    """The number of actions.

    Raises:
        UqbenchError: the space is not ``Discrete`` starting at 0.
    """
    if not isinstance(space, gymnasium.spaces.Discrete) or space.start != 0:
        raise UqbenchError(
            f"expected an environment with Discrete actions from 0, got {space}; "
            f"wrap it so that its actions are numbered"
        )
    return int(space.n)


def _has_state(env: gymnasium.Env[Any, Any]) -> bool:
    """Whether its class has both: attributes of the wrapped one leave out the wrapper's state."""
    return all(hasattr(type(env), name) for name in ("state_dict", "load_state_dict"))


def _wrongly_declared(env: gymnasium.Env[Any, Any], declared: bool) -> str:
    name, inner = type(env).__name__, env
    if not declared:
        return (
            f"{name} has state_dict() and load_state_dict(state), which has_state_dict=False says "
            f"it has not; expected EnvironmentSpec(has_state_dict=True){see('has-state-dict')}"
        )
    while isinstance(inner, gymnasium.Wrapper) and not _has_state(inner):
        inner = inner.env
    hidden = f" It hides those of {type(inner).__name__}." if _has_state(inner) else ""
    return (
        f"has_state_dict=True, but {name} lacks state_dict() or load_state_dict(state).{hidden} "
        f"Give {name} both, for itself and what it wraps, or let its actions be replayed: "
        f"has_state_dict=False{see('has-state-dict')}"
    )


def _undeclared(
    env: gymnasium.Env[Any, Any], counted: Mapping[str, object], declared: Sequence[str]
) -> str:
    name = next(name for name in counted if name not in declared)
    return (
        f"info['events'] of {type(env.unwrapped).__name__} has {name!r}, which its plugin does not "
        f"declare in EnvironmentSpec(events=…). {did_you_mean(name, declared)}"
        f"{see('undeclared-event')}"
    )
