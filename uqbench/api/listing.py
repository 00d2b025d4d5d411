"""Frames of installed components."""

import pandas as pd

from uqbench.api.installed import listing, named
from uqbench.api.values import Name, given
from uqbench.registry.definitions import summary
from uqbench.registry.load_host import load_host
from uqbench.suites.reading import read_suites


def list_suites() -> pd.DataFrame:
    """The installed suites: ``name``, ``version``, ``summary``, budgets, tasks and methods.

    Returns:
        A row a suite.

    Example:
        >>> import uqbench
        >>> uqbench.list_suites().query("name.str.startswith('deep')")  # doctest: +SKIP
    """
    return pd.DataFrame(listing("suites")["suites"])


def list_agents() -> pd.DataFrame:
    """The installed agents: ``name``, ``version``, ``summary``, ``source``, ``plugin``.

    Returns:
        A row an agent.

    Example:
        >>> import uqbench
        >>> uqbench.list_agents()["name"]  # doctest: +SKIP
    """
    return pd.DataFrame(listing("agents")["agents"])


def list_methods(suite: str) -> pd.DataFrame:
    """The methods of a suite: ``name``, agent or estimator, ``role``, ``summary``, ``config``.

    Args:
        suite: its name.

    Returns:
        A row a method.

    Raises:
        UqbenchError: there is no such suite; says the nearest.

    Example:
        >>> import uqbench
        >>> uqbench.list_methods("minatar")  # doctest: +SKIP
    """
    host, rows = load_host(), []
    for method in read_suites(host, check=()).suite(given("suite", suite, Name)).methods:
        spec = host.agents[method.agent] if method.agent else host.estimators[str(method.estimator)]
        about = {"role": spec.role, "summary": summary(spec), "config": method.config}
        rows.append(named(method, "name", "agent", "estimator") | about)
    return pd.DataFrame(rows)


def list_budgets(suite: str) -> pd.DataFrame:
    """The budgets of a suite: ``name``, ``steps``, ``seeds``, ``tasks``, ``ranks``, ``summary``.

    Args:
        suite: its name.

    Returns:
        A row a budget.

    Raises:
        UqbenchError: there is no such suite; says the nearest.

    Example:
        >>> import uqbench
        >>> uqbench.list_budgets("minatar")  # doctest: +SKIP
    """
    own = read_suites(load_host(), check=()).suite(given("suite", suite, Name))
    rows = [
        {"name": name, "steps": budget.steps, "seeds": budget.seeds}
        | {"tasks": [task.name for task in own.tasks_of(budget)]}
        | named(budget, "ranks", "summary")
        for name, budget in own.budgets.items()
    ]
    return pd.DataFrame(rows)
