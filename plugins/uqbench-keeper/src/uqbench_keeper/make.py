"""The file of a submission, from the finished runs of a results folder.

Whoever reads one has it from somebody else. It is one JSON file of limited size, and a model says
what may be in it; there is no path in it, and nothing is unpickled or executed. The wheel, of which
it has the digest, goes beside it.
"""

from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from uqbench.boards.leaderboard import board
from uqbench.boards.manifest import Digest
from uqbench.boards.provenance import of_older_code
from uqbench.boards.submitted import Plain
from uqbench.boards.tuned import how_tuned
from uqbench.contract.config import explain
from uqbench.contract.errors import UqbenchError, see
from uqbench.registry.plugins import Host
from uqbench.registry.registry import Plugin, Registry
from uqbench.results.files import read_bytes, write_data
from uqbench.results.store import RunState, Store
from uqbench.suites.plan import Plan

MOST_BYTES = 64 << 20
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+!-]{0,99}$")]
DONE = (RunState.FINISHED.value, RunState.FAILED.value)


class Submission(BaseModel):
    """A row that an author sends.

    Attributes:
        suite, budget: that were run.
        method: that is submitted.
        package, version: the distribution that has it.
        wheel: sha256 of its file.
        scores: ``scores.csv``, as the author has them.
        hours: of a core or device, that their runs took.
        tuned: how the method was, in words, under a budget that is tuned.
        checks: how many conformance checks of the method had which outcome at the author's.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_version: Literal[2] = 2
    suite: Name
    budget: Name
    method: Name
    package: Name
    version: Name
    wheel: Digest
    scores: str
    hours: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    tuned: Plain = ""
    checks: Annotated[dict[Name, Annotated[int, Field(ge=0, le=10**6)]], Field(max_length=6)]


def read_submission(path: Path) -> tuple[Submission, str]:
    """A submission from anywhere, and the sha256 of its file.

    Raises:
        UqbenchError: it is none, too large, or damaged.
    """
    try:
        data = read_bytes(path, MOST_BYTES)
        return Submission.model_validate_json(data), sha256(data).hexdigest()
    except (OSError, ValueError, RecursionError) as error:
        why = explain(error) if isinstance(error, ValidationError) else str(error)
        raise UqbenchError(
            f"{path} is no submission of this version's uqbench submit, or damaged: {why:.300}"
            f"{see('refused-submission')}"
        ) from error


def submit(plan: Plan, host: Host, store: Store, wheel: Path, path: Path) -> str:
    """Write a submission of a plan's runs; return its sha256.

    Args:
        plan: of the method that is submitted, as its suite and budget say.
        host: the plugins.
        store: of the runs.
        wheel: of the package that has the method.
        path: of the file.

    Raises:
        UqbenchError: runs are missing or of other code, or the method breaks a required rule of
            conformance.
    """
    from uqbench_testing import results as conformance

    result = board(plan, store)
    if missing := [score.run for score in result.scores if score.status not in DONE]:
        raise UqbenchError(
            f"{len(missing)} of {len(result.scores)} runs are not done, such as {missing[0]}: "
            f"uqbench run --suite {plan.suite.name} --budget {plan.budget_name} does them."
        )
    if older := of_older_code(result.scores):
        raise UqbenchError(
            f"runs were made with other code than is installed ({older}): uqbench run --rerun "
            f"makes them again.{see('other-code')}"
        )
    of, name = origin(plan, host)
    results = [one.as_json() for one in conformance.check_plugin(host, f"{of.distribution}:{name}")]
    for one in results:
        if one["level"] == "required" and one["status"] in ("failed", "blocked"):
            raise UqbenchError(
                f"{one['subject']} breaks the required rule {one['check']}: uqbench plugin check "
                f"{of.distribution}:{name} says more."
            )
    timings = [score.made.timing for score in result.scores if score.made is not None]
    sent = Submission(
        suite=plan.suite.name, budget=plan.budget_name, method=plan.cells[0].method.name,
        package=of.distribution, version=of.version,
        wheel=sha256(read_bytes(wheel, MOST_BYTES)).hexdigest(),
        scores=result.tables["scores.csv"].decode(),
        hours=sum(timing.seconds / timing.lanes for timing in timings if timing) / 3600,
        tuned=how_tuned(plan, plan.cells[0].method.name),
        checks=dict(Counter(one["status"] for one in results)),
    )  # fmt: skip
    data = sent.model_dump_json(indent=1).encode()
    write_data(path, data)
    return sha256(data).hexdigest()


def origin(plan: Plan, host: Host) -> tuple[Plugin, str]:
    """The plugin that has a plan's method, and the name of its agent or estimator there."""
    method = plan.cells[0].method
    name = str(method.agent or method.estimator)
    registry: Registry[Any] = host.agents if method.agent else host.estimators
    return registry.origin(name), name.rpartition(":")[2]
