"""Whether a submission says what follows from its scores, by the code that is installed here."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uqbench.boards.scores import DEVICES
from uqbench.boards.stored import StoredBoard
from uqbench.boards.submission.bundle import CHECK, LOCK, TABLES, Bundle, plain, read_json
from uqbench.boards.submission.make import DONE, involved
from uqbench.errors import UqbenchError
from uqbench.results.files import write_data
from uqbench.results.states import RunState
from uqbench.suites.selection import Say, Selection

if TYPE_CHECKING:
    from uqbench.boards.scores import Score
    from uqbench.registry.plugins import Host

STATUSES = ("passed", "failed", "expected", "skipped")
COST_COLUMNS = ["task", "method", "device", "runs", "steps_per_s", "device_hours"]


@dataclass(frozen=True)
class Judged:
    """A submission that could be read.

    Attributes:
        stored: it as a board.
        differing: the tables that do not follow from ``scores.csv``.
        versions: libraries that the runs were made with and of which another version is here.
        checks: how many checks of its plugins were reported, by their outcome.
        broken: required rules that were reported as broken, or plugins of which none was reported.
    """

    bundle: Bundle
    stored: StoredBoard
    differing: tuple[str, ...]
    versions: tuple[str, ...]
    checks: Mapping[str, int]
    broken: tuple[str, ...]

    @property
    def follows(self) -> bool:
        """Whether its tables follow from its scores, and no rule is broken."""
        return not (self.differing or self.broken)


def judge(bundle: Bundle, host: Host, folder: Path, say: Say) -> Judged:
    """Recompute a submission's tables.

    Args:
        bundle: the submission.
        host: the plugins; its methods must be among them.
        folder: an empty one, for its files while they are read.
        say: is told what cannot be used of the installed suites.

    Raises:
        UqbenchError: a name is unknown here, its runs are not those of the budget as it is written,
            or a file is damaged.
    """
    index = bundle.index
    for name in (*TABLES, "made_with.json", "cost.csv"):
        write_data(folder / name, bundle.files[name])
    selection = Selection(index.suite, index.budget, tuple(index.methods))
    plan = selection.plan(host, "cpu", say)
    stored = StoredBoard.read(plan, selection, host, folder, say)
    stored.check_as_run()
    if sorted({score.method for score in stored.scores}) != sorted(index.methods):
        raise UqbenchError("scores.csv has rows of other methods than are submitted.")
    for score in stored.scores:
        _check_score(score)
    for made in stored.made[0]:
        for text in _texts(made.__dict__):
            plain(text, "made_with.json")
    cost = checked_cost(stored)
    stored = replace(stored, files={**stored.files, "cost.csv": cost.encode()})
    own = replace(stored.plan, claims=stored.own_claims)
    expected = stored.tables(own, stored.made[1], stored.planned)
    differing = [name for name in TABLES if bundle.files[name] != expected[name].encode()]
    wanted = {plugin.distribution for plugin in involved(plan, host)}
    checks, broken = _checks(read_json(bundle.files[CHECK], CHECK), wanted)
    return Judged(bundle, stored, tuple(differing), _versions(stored, bundle), checks, broken)


def _check_score(score: Score) -> None:
    """See that what is shown of a row is what uqbench writes; its run is that of the plan."""
    known = {
        "status": score.status in DONE,
        "device": score.device in DEVICES or score.status != RunState.FINISHED.value,
        "digest": re.fullmatch(r"[0-9a-f]{64}|", score.digest) is not None,
        "content": re.fullmatch(r"([\w.-]{1,100}:[0-9a-f]{8} ?){0,50}", score.content) is not None,
    }
    wrong = [name for name, right in known.items() if not right]
    if wrong:
        raise UqbenchError(
            f"scores.csv: the {wrong[0]} of {score.run} is {getattr(score, wrong[0])[:100]!r}, "
            f"which uqbench submit does not write."
        )


def checked_cost(stored: StoredBoard) -> str:
    """``cost.csv`` written anew from its numbers.

    Raises:
        UqbenchError: it is damaged, or of other tasks and methods.
    """
    cells = {(cell.task.name, cell.method.name) for cell in stored.plan.cells}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    try:
        rows = list(csv.reader(io.StringIO(stored.files["cost.csv"].decode())))
        if rows[:1] != [COST_COLUMNS]:
            raise ValueError(f"expected the columns {', '.join(COST_COLUMNS)}")
        writer.writerow(COST_COLUMNS)
        for task, method, device, runs, speed, hours in rows[1:]:
            numbers = float(speed), float(hours)
            if (task, method) not in cells or not all(math.isfinite(n) and n >= 0 for n in numbers):
                raise ValueError(f"a row of {task[:50]!r} and {method[:50]!r} is not of these runs")
            if set(device.split("+")) - set(DEVICES):
                raise ValueError(f"a device {device[:50]!r}")
            writer.writerow(
                [task, method, device, int(runs), f"{numbers[0]:.1f}", f"{numbers[1]:.4f}"]
            )
    except (ValueError, csv.Error) as error:
        raise UqbenchError(f"cost.csv is damaged: {error!s:.300}") from error
    return text.getvalue()


def _texts(value: Any) -> list[str]:
    """All strings in a value of dictionaries."""
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def _checks(found: Any, wanted: set[str]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Outcomes of a conformance report, and what it says is broken or lacks."""
    counts: Counter[str] = Counter()
    broken = []
    try:
        for distribution, results in found.items():
            for result in results:
                status = result["status"]
                if status not in STATUSES:
                    raise ValueError(f"a status {str(status)[:50]!r}")
                counts[status] += 1
                if status == "failed" and result["level"] == "required":
                    broken.append(f"{distribution}: {result['check']}")
        unchecked = [name for name in sorted(wanted) if not found.get(name)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UqbenchError(f"{CHECK} is damaged: {type(error).__name__}: {error!s:.300}") from error
    return dict(counts), (*broken, *(f"{name}: nothing was checked" for name in unchecked))


def _versions(stored: StoredBoard, bundle: Bundle) -> tuple[str, ...]:
    """The libraries of another version than runs were made with, here or in the lock file."""
    pairs = re.findall(rb"^([\w.-]{1,100})==([\w.+!-]{1,100})", bundle.files[LOCK], re.MULTILINE)
    locked = {name.decode().lower().replace("_", "-"): version.decode() for name, version in pairs}
    found: dict[str, None] = {}
    for made in stored.made[0]:
        for name, version in made.versions.items():
            try:
                here = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue  # Python itself, or what is not needed here
            others = [f"here {here}"] if here != version else []
            if locked.get(name.lower(), version) != version:
                others.append(f"{LOCK} {locked[name.lower()]}")
            if others:
                found[f"{name} {version} ({', '.join(others)})"] = None
    return tuple(found)
