"""What the page says of each method: its rows on all boards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uqbench.registry.definitions import source, summary
from uqbench.report.sections import BoardSection
from uqbench.views.board_view import Line

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host


@dataclass(frozen=True)
class MethodSection:
    """A method on the page, over all boards.

    Attributes:
        agents: what it is an instance of, as ``(kind and name, summary, source)``.
        lines: its row on each board.
    """

    name: str
    id: str
    agents: list[tuple[str, str, str]]
    lines: list[tuple[BoardSection, Line]]


def method_sections(boards: Sequence[BoardSection], host: Host) -> list[MethodSection]:
    """The methods of all boards, by name."""
    lines: dict[str, list[tuple[BoardSection, Line]]] = {}
    for section in boards:
        for line in section.view.lines:
            lines.setdefault(line.method, []).append((section, line))
    return [
        MethodSection(name, f"method-{name}", _agents(name, own, host), own)
        for name, own in sorted(lines.items())
    ]


def _agents(
    name: str, lines: Sequence[tuple[BoardSection, Line]], host: Host
) -> list[tuple[str, str, str]]:
    """What its boards say that it is, with what the installed plugin says of that."""
    found = {}
    configs = (config for section, _ in lines for config in section.board.configs.items())
    for cell, of in configs:
        for kind, registry in (("agent", host.agents), ("estimator", host.estimators)):
            if cell.rsplit("/", 1)[-1] == name and of.get(kind):
                spec = registry.get(str(of[kind]))
                about = ("", "") if spec is None else (summary(spec), source(spec))
                found[f"{kind} {of[kind]}"] = (f"{kind} {of[kind]}", *about)
    return list(found.values())
