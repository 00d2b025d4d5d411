"""Sources of a suite's tasks, methods and claims, in the words of their ``source``."""

from collections.abc import Collection

from uqbench.registry.definitions import source
from uqbench.registry.plugins import Host
from uqbench.suites.suite import Suite


def sources_of(suite: Suite, host: Host, methods: Collection[str] | None = None) -> list[str]:
    """Sources of a suite, then of its tasks, methods and claims.

    Args:
        suite: the suite.
        host: the plugins.
        methods: only these of its methods; all where it is None.
    """
    sources = [suite.source]
    for task in suite.tasks:
        if task.environment is not None and task.environment in host.environments:
            sources.append(source(host.environments[task.environment]))
        if task.dataset is not None and task.dataset in host.datasets:
            sources.append(source(host.datasets[task.dataset]))
    for method in suite.methods:
        if methods is None or method.name in methods:
            sources.append(source(method.spec(host)))
    return [*sources, *(claim.source for claim in suite.claims)]
