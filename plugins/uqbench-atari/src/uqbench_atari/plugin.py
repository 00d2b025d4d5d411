"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import EnvironmentSpec, hookimpl
from uqbench.contract.errors import UqbenchError


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The 57 games, as one environment whose config names the game."""
    return [
        EnvironmentSpec(
            name="atari",
            version=f"1+ale{_emulator_version()}",
            factory="uqbench_atari.environment:make",
            config="uqbench_atari.config:AtariConfig",
            has_state_dict=True,
        )
    ]


def _emulator_version() -> str:
    """The version of ale-py: scores may change with its ROMs and its emulator.

    Raises:
        UqbenchError: ale-py is not installed; the plugin is left out with this reason.
    """
    try:
        return version("ale-py")
    except PackageNotFoundError as error:
        raise UqbenchError(
            "the Atari games need the package ale-py, which is not installed; "
            "install it with: pip install 'ale-py>=0.11'"
        ) from error


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``atari`` suite."""
    return [files("uqbench_atari") / "suites" / "atari.toml"]
