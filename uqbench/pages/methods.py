"""Methods as readers know them: a name, what sets them apart, one sentence, and the paper."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import UqbenchError
from uqbench.registry.definitions import source, summary
from uqbench.registry.plugins import Host
from uqbench.suites.suite import Suite

SYMBOLS = {"zeta": "ζ", "lam": "λ", "epsilon": "ε", "alpha": "α", "beta": "β"}
MOST_SETTINGS = 2
"""Settings that a name has room for; with more the method's own name tells."""
MOST_LETTERS = 24
"""The most letters of a title; a longer one, or one of two rows, gives way to the row's name."""


def names_of(
    board: StoredBoard, host: Host, suite: Suite | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each method of a board, in its order, with what its suite and the plugins say of it.

    ``name``, ``of`` (the method that it is a setting of: of the row's own paper, else its agent or
    estimator), ``title`` (such as ``UBE, ζ = 1``: its one name in tables, sentences and pictures),
    ``family`` (the title without settings), ``about``, ``source``, ``code`` (its module and name in
    it) and ``config``.
    """
    rows = {row.name: row for row in suite.methods} if suite is not None else {}
    made = {cell.rsplit("/", 1)[1]: of for cell, of in sorted(board.configs.items(), reverse=True)}
    facts: dict[str, dict[str, Any]] = {}
    for name in board.methods:
        of = str(made[name].get("agent") or made[name].get("estimator") or name)
        family, about, paper, code = _described(of, host)
        if (row := rows.get(name)) and row.title:
            of, family, about = row.title.lower().replace(" ", "-"), row.title, row.summary
            paper = row.source or paper
        told = {"family": family or of, "about": about, "source": paper, "code": code}
        facts[name] = {"name": name, "of": of, **told, "config": made[name]["config"]}
    titles = {}
    for name, own in facts.items():
        title = own["family"] if own["family"] != own["of"] else name
        alike = [one["config"] for one in facts.values() if one["of"] == own["of"]]
        if len(alike) > 1 and title != name:
            title += f", {setting_apart(name, own['config'], alike)}"
        titles[name] = title if len(title) <= MOST_LETTERS else name
    alike = [*titles.values()]
    for name, title in titles.items():
        yield name, {**facts[name], "title": title if alike.count(title) == 1 else name}


def entitled(board: StoredBoard, host: Host, suite: Suite | None = None) -> StoredBoard:
    """The board whose frames, finding and figures call methods by their titles."""
    return replace(board, names={n: own["title"] for n, own in names_of(board, host, suite)})


def setting_apart(name: str, config: Mapping[str, Any], alike: list[dict[str, Any]]) -> str:
    """The settings that set a method apart from others of its agent; its name if they are many."""
    keys = [key for key in config if any(one.get(key) != config[key] for one in alike)]
    if not keys or len(keys) > MOST_SETTINGS or any(isinstance(config[k], dict) for k in keys):
        return name
    return ", ".join(f"{SYMBOLS.get(k, k.replace('_', ' '))} = {config[k]}" for k in keys)


def _described(of: str, host: Host) -> tuple[str, ...]:
    """Title, summary, source and code of an agent or estimator; empty where it is not there."""
    spec = host.agents.get(of) or host.estimators.get(of)
    if spec is None:
        return ("",) * 4
    try:
        made = spec.factory
        code = made if isinstance(made, str) else f"{made.__module__}:{made.__name__}"
        return spec.title, summary(spec), source(spec), code
    except UqbenchError as error:
        return "", str(error), "", ""
