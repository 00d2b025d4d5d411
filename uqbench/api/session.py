"""A session: options, and what every command needs that follows from them."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from uqbench.api.options import Options
from uqbench.boards.leaderboard import Board
from uqbench.boards.stored import StoredBoard, board_folder
from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench.contract.identity import DeviceKind
from uqbench.registry import local
from uqbench.registry.load_host import load_host
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.results.store import BOARDS, Store
from uqbench.runner.watcher import Watcher
from uqbench.suites.plan import Plan
from uqbench.suites.selection import Selection


@dataclass(frozen=True)
class Session:
    """Options with the plugins, the store and the plan that they mean, each made once.

    Attributes:
        options: which runs, where they are stored, and where and how they are executed.
        watcher: shows what is executed; nobody by default.
        say: called with what stops nothing, such as a plugin that cannot be loaded.
    """

    options: Options = field(default_factory=Options)
    watcher: Watcher = field(default_factory=Watcher)
    say: Say = warn

    @property
    def selection(self) -> Selection:
        """The runs that are meant."""
        return self.options.selection

    @cached_property
    def host(self) -> Host:
        """The plugins, with the files that the options name."""
        for path in self.options.plugins:
            local.add_file(Path(path))
        _ = self.selection  # files among the methods join first
        return load_host(self.say)

    @cached_property
    def store(self) -> Store:
        """The store of the runs.

        Raises:
            UqbenchError: nothing is kept.
        """
        if self.options.out is None:
            raise UqbenchError("out=None keeps no runs: expected a results folder.")
        return Store(Path(self.options.out))

    def plan(self, device: DeviceKind = "cpu") -> Plan:
        """The runs; a board of stored ones does not depend on the device.

        Raises:
            UqbenchError: a name is unknown, a selection is empty, or a setting is wrong.
        """
        return self.selection.plan(self.host, device, self.say)

    def boards(self, folder: Path | None) -> Folder:
        """A folder of leaderboards; that of the results where none is named."""
        return Folder(self.store.root, (BOARDS,)) if folder is None else Folder(folder)

    def references(self, beside: Path | None = None) -> list[Folder]:
        """Folders of leaderboards that tell of a budget's runs, the first that has it."""
        named = () if beside is None else (Folder(beside),)
        own = () if self.options.out is None else (self.boards(None),)
        return [*named, *own, Folder(Path("leaderboards"))]

    def stored(
        self, plan: Plan, boards: Path | None = None, selection: Selection | None = None
    ) -> tuple[StoredBoard, Board]:
        """The stored board of a plan, and the board that its scores make.

        Args:
            plan: of all methods that are installed.
            boards: folder of leaderboards; None for that of the results.
            selection: that the plan is of; None for the session's.

        Raises:
            UqbenchError: there is none, or it is of an earlier protocol, or damaged.
        """
        stored = StoredBoard(board_folder(plan, self.boards(boards)))
        return stored, stored.board(plan, selection or self.selection, self.host, self.say)
