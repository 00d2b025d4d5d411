"""What the page says of each method: its rows on all boards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uqbench.plots.words import natural
from uqbench.registry.definitions import source, summary
from uqbench.report.sections import BoardSection
from uqbench.views.board_view import Line

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host


@dataclass(frozen=True)
class MethodSection:
    """A method on the page, over all boards.

    Attributes:
        agents: what it is an instance of, ``(summary, source)`` by kind and name.
        lines: its row on each board.
    """

    name: str
    agents: dict[str, tuple[str, str]]
    lines: list[tuple[BoardSection, Line]]


def method_sections(boards: Sequence[BoardSection], host: Host) -> list[MethodSection]:
    """The methods of all boards, by name; of an agent says what the installed plugin says of it."""
    methods: dict[str, MethodSection] = {}
    for section in boards:
        for line in section.view.lines:
            of = methods.setdefault(line.method, MethodSection(line.method, {}, []))
            of.lines.append((section, line))
        for cell, made in section.board.configs.items():
            for kind, registry in (("agent", host.agents), ("estimator", host.estimators)):
                name, method = made.get(kind), methods.get(cell.rsplit("/", 1)[-1])
                if name and method is not None:
                    spec = registry.get(str(name))
                    about = ("", "") if spec is None else (summary(spec), source(spec))
                    method.agents[f"{kind} {name}"] = about
    return sorted(methods.values(), key=lambda method: natural(method.name))
