"""A plugin that harms the process it runs in, beside the toy plugin."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from toy_uqbench import WalkerConfig

from uqbench import AgentSpec, hookimpl


@dataclass(frozen=True, kw_only=True)
class HostileConfig(WalkerConfig):
    """``deed``: what it does at step ``at``, if a lane's first number is below ``only_below``."""

    deed: str = ""
    at: int = 100


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    made, does = "hostile_uqbench.deeds:Hostile", "does what no agent should"
    spec = AgentSpec(name="hostile", version="1", factory=made, config=HostileConfig, summary=does)
    return [spec]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    return [files("hostile_uqbench") / "hostile.toml"]
