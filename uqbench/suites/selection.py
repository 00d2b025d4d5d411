"""A selection of a suite's runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from uqbench.contract.errors import Say, UqbenchError, warn

if TYPE_CHECKING:
    from uqbench.contract.identity import DeviceKind
    from uqbench.registry.plugins import Host
    from uqbench.suites.plan import Plan, Stage


@dataclass(frozen=True)
class Selection:
    """The runs of a suite that a call is about; None stands for all, or the suite's default.

    Attributes:
        settings: config values by method that replace the suite's.
        keep_agents: whether the final state of each agent is stored.
        stage: of the runs, that is done; None for both.
    """

    suite: str
    budget: str | None = None
    methods: tuple[str, ...] | None = None
    tasks: tuple[str, ...] | None = None
    seeds: tuple[int, ...] | None = None
    steps: int | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keep_agents: bool = False
    stage: Stage | None = None

    def plan(self, host: Host, device: DeviceKind, say: Say = warn) -> Plan:
        """Plan the selected runs.

        Args:
            host: the plugins.
            device: kind of device that the runs are for.
            say: called with what cannot be used of the installed suites.

        Raises:
            UqbenchError: a name is unknown, a selection is empty, or a setting is wrong.
        """
        from uqbench.suites.plan import make_plan
        from uqbench.suites.reading import read_suites

        catalog = read_suites(host, check=(self.suite,))
        for problem in catalog.problems:
            say(f"uqbench: left out: {problem}")
        if not self.suite:
            known = ", ".join(catalog.suites)
            raise UqbenchError(f"no suite was given: expected one of {known}.")
        chosen = vars(self) | {"suite": catalog.suite(self.suite)}
        return make_plan(host=host, device=device, say=say, **chosen)
