"""Checks of the values that an environment of Gymnasium's API returns.

NumPy would make a number of ``"1"``, true of ``"no"``, and an array of the right shape of one of
another: here each is an error that names the environment, the lane, the step and what was expected.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from uqbench.contract.errors import UqbenchError, see

FIXED = spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary
"""Spaces whose values are arrays of one shape."""
NUMBERS, TRUTHS, MASKS = "fiub", "b", "bui"
"""Kinds of NumPy's dtypes."""


class Call(NamedTuple):
    """A call of an environment: of a lane, or of all where that is None, in a step."""

    env: Any
    lane: int | None
    step: int | None = None

    def wrong(self, returned: str, expected: str) -> UqbenchError:
        """The error that says so; ``step`` is counted in its episode."""
        call = "reset" if self.step is None else "step"
        lane = "" if self.lane is None else f"lane {self.lane}, "
        kind = type(self.env.unwrapped)
        where = "at its reset" if self.step is None else f"step {self.step} of its episode"
        return UqbenchError(
            f"the environment's {call} returned {returned}; expected {expected} "
            f"({kind.__name__} of {kind.__module__.partition('.')[0]}, {lane}{where})"
            f"{see('wrong-outcome')}"
        )


def check_space(env: Any, space: gymnasium.Space[Any]) -> None:
    """Refuse observations that are no arrays of one shape.

    Raises:
        UqbenchError: says what to wrap the environment in.
    """
    if not isinstance(space, FIXED):
        raise UqbenchError(
            f"the observation space of {type(env.unwrapped).__name__} is {space}; expected a Box, "
            f"Discrete, MultiDiscrete or MultiBinary: wrap it in "
            f"gymnasium.wrappers.FlattenObservation, or in an ObservationWrapper that makes arrays "
            f"of one shape{see('wrong-outcome')}"
        )


def parts(call: Call, returned: Any) -> tuple[Any, ...]:
    """The two parts of what ``reset`` returned, or the five of ``step``, the last one its info."""
    expected = "(obs, info)"
    if call.step is not None:
        expected = "(obs, reward, terminated, truncated, info)"
    number = 2 if call.step is None else 5
    if not isinstance(returned, tuple) or len(returned) != number:
        many = f" of {len(returned)} values" if isinstance(returned, tuple) else ""
        raise call.wrong(f"a {type(returned).__name__}{many}", f"{number} values, {expected}")
    if not isinstance(returned[-1], Mapping):
        raise call.wrong(f"a {type(returned[-1]).__name__} as info", "a dictionary")
    return returned


def array(call: Call, name: str, value: Any, kinds: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """A value as an array of this shape, whose dtype is of one of the kinds."""
    try:
        made: NDArray[Any] = np.asarray(value)
    except ValueError:  # sequences of several lengths
        made = np.array(None)
    if made.dtype.kind not in kinds or made.shape != shape:
        given = f"the {name} {value!r:.60}, a {type(value).__name__}"
        if made.shape:
            given = f"the {name} as {made.dtype} of shape {made.shape}"
        what = {NUMBERS: "a number", TRUTHS: "True or False", MASKS: "bool"}[kinds]
        raise call.wrong(given, f"{what} each, of shape {shape}" if shape else what)
    return made


def observation(call: Call, value: Any, space: gymnasium.Space[Any]) -> NDArray[Any]:
    """A copy of an observation, in the dtype of its space."""
    made = array(call, "observation", value, NUMBERS, space.shape or ())
    with np.errstate(invalid="ignore"):
        cast: NDArray[Any] = made.astype(space.dtype)
    if cast.dtype.kind != "f" and made.dtype != cast.dtype and not np.array_equal(cast, made):
        raise call.wrong(f"an observation of {made.dtype}", f"values of {space}")
    return cast
