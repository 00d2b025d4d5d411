"""uqbench: a benchmark suite for methods that know what they do not know."""

from uqbench.hookspecs import CONTRACT, hookimpl
from uqbench.specs import AgentSpec, DatasetSpec, EnvironmentSpec, ExecutorSpec, Spec

__version__ = "0.1.0"
__all__ = [
    "CONTRACT",
    "AgentSpec",
    "DatasetSpec",
    "EnvironmentSpec",
    "ExecutorSpec",
    "Spec",
    "__version__",
    "hookimpl",
]
