"""Rows of a board or a submission, made again in processes of their own, and compared here.

This process reads files and compares numbers: it imports no plugin before it is done.
"""

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from uqbench.boards.manifest import Manifest
from uqbench.boards.provenance import MadeWith, provenance
from uqbench.boards.sandbox import call, results_folder
from uqbench.boards.scores import score_of
from uqbench.boards.submission.bundle import Bundle
from uqbench.boards.submission.judge import Findings
from uqbench.boards.verification import NEW_RUNS, Key, Verification, draw, verify
from uqbench.contract.config import explain
from uqbench.contract.errors import UqbenchError
from uqbench.results.files import write_data
from uqbench.results.scores import Score
from uqbench.results.states import RunState
from uqbench.results.store import Store
from uqbench.suites.metrics import NormalizationConstants

FIRST_NEW, LAST_NEW = 100_000, 2**31
"""New seeds are drawn from these: no budget has so many."""


def verify_rows(
    scores: Sequence[Score],
    manifest: Manifest,
    made: Sequence[MadeWith],
    size: int | None,
    arguments: Sequence[str] = (),
    new_seeds: int | None = None,
    out: Path | None = None,
    hidden: Sequence[Path] = (),
    numbered: Mapping[str, int] | None = None,
) -> dict[str, Verification]:
    """Make rows of each method again, and runs of it with new seeds.

    Args:
        scores: all rows.
        manifest: of the board, which says how they are scored.
        made: what the rows were made with.
        size: how many rows of each method; None for as many as the word *verified* needs.
        arguments: further ones of the command line, which the rows were made with.
        new_seeds: how many of each task; None for :data:`NEW_RUNS` runs at least.
        out: folder of the runs; None for one that is removed.
        hidden: files that the methods must not see.
        numbered: how many data sets each task has whose data sets are numbered. Its new seeds are
            data sets that no row has; where all are used, there are none.
    """
    rng = np.random.default_rng(secrets.randbits(128))  # a draw that nobody can know
    taken, numbered = {score.seed for score in scores}, numbered or {}
    drawn, wanted, used_up = {}, {}, {}
    finished = RunState.FINISHED.value
    rows_of = {
        method: [s for s in scores if (s.method, s.status) == (method, finished)]
        for method in sorted({score.method for score in scores})
    }
    barred = {method: _barred(rows) for method, rows in rows_of.items()}
    for method, rows in rows_of.items():
        if barred[method]:
            continue
        tasks = {row.task for row in rows}
        used_up[method] = {t: n for t, n in numbered.items() if t in tasks and n <= len(taken)}
        fresh = sorted(tasks - set(used_up[method]))
        many = max(2, -(-NEW_RUNS // max(1, len(fresh)))) if new_seeds is None else new_seeds
        drawn[method] = draw(rows, size, rng)
        keys = {(row.task, method, row.seed) for row in drawn[method]}
        new = {(t, method, s) for t in fresh for s in _unused(taken, numbered.get(t), many, rng)}
        wanted[method, rows[0].device] = keys | new
    with results_folder(out) as folder:
        remade = _remake(manifest, wanted, scores, arguments, folder, hidden)
    machine = {_machine(one) for one in made}
    here = {_machine(one) for one in provenance(list(remade.values()))}
    metrics = [score.made.metrics for score in remade.values() if score.made is not None]
    measured = [name for own in metrics for name, one in own.items() if one.get("kind") == "cost"]
    verified = {}
    for method, rows in rows_of.items():
        if barred[method]:
            verified[method] = Verification(len(rows), bars=barred[method])
            continue
        own = {key: score for key, score in remade.items() if key[1] == method}
        machines = machine == here, len(machine) == 1
        verified[method] = verify(rows, drawn[method], own, measured, *machines, used_up[method])
    return verified


def judged_elsewhere(bundle: Bundle, path: Path) -> Findings:
    """Whether a submission's tables follow, by a process that imports its methods.

    Raises:
        UqbenchError: that process refuses it.
    """
    with results_folder(None) as folder:
        write_data(folder / path.name, path.read_bytes())
        text = call(["verify", path.name, "--sample", "0", "--json"], folder)
    try:
        findings = Findings.model_validate_json(text)
    except ValidationError as error:
        raise UqbenchError(f"{path} could not be judged: {explain(error)}") from error
    if set(findings.methods) != set(bundle.index.methods):
        raise UqbenchError(f"{path} was judged as another file: a method meddled with it.")
    return findings


def _unused(taken: set[int], count: int | None, many: int, rng: np.random.Generator) -> list[int]:
    """Seeds that no row has, drawn anew: of the ``count`` data sets, where these are numbered."""
    seeds = range(FIRST_NEW, LAST_NEW) if count is None else range(count)
    some = rng.choice(len(seeds), min(len(seeds), many + len(taken)), replace=False)
    return [seeds[i] for i in some if seeds[i] not in taken][:many]


def _barred(rows: Sequence[Score]) -> tuple[str, ...]:
    """Why rows of a method cannot be made again; all of them could be drawn."""
    if not rows:
        return ("it has no finished rows",)
    bars = []
    without = [row.run for row in rows if not row.digest]
    if without:
        bars.append(f"{len(without)} rows have no digest of their results, such as {without[0]}")
    devices = {row.device for row in rows}
    if devices != {"cpu"}:
        import torch

        if devices != {"cuda"} or not torch.cuda.is_available():
            names = ", ".join(sorted(devices))
            bars.append(f"its rows are of {names}; here can be re-made those of a CPU")
    return tuple(bars)


def _remake(
    manifest: Manifest,
    wanted: dict[tuple[str, str], set[Key]],
    scores: Sequence[Score],
    arguments: Sequence[str],
    folder: Path,
    hidden: Sequence[Path],
) -> dict[Key, Score]:
    """The runs of some tasks, methods and seeds, from their files."""
    for (method, device), own in wanted.items():
        for task in sorted({key[0] for key in own}):
            seeds = sorted(key[2] for key in own if key[0] == task)
            call(
                [
                    "run", "--suite", manifest.suite["name"], "--budget", manifest.budget["name"],
                    f"--methods={method}", f"--tasks={task}", "--device", device,
                    *(f"--seed={seed}" for seed in seeds), "--out", str(folder),
                    *arguments,
                ],
                folder, hidden,
            )  # fmt: skip
    metrics = {name for score in scores for name in score.values}
    keys, rerun = set().union(*wanted.values()), {}
    for place, stored in Store(folder).walk():
        record, (_, _, task, method, _) = stored.record, place.split("/")
        if stored.state is not RunState.FINISHED or record is None:
            continue
        key = task, method, record.identity["seed"]
        if key not in keys:  # a plugin may write what it likes
            continue
        primary, digest = manifest.primary_metric["name"], record.digests.get("results", "")
        scale = NormalizationConstants.model_validate(manifest.normalization["constants"][task])
        rerun[key] = score_of(record, place, metrics, primary, scale, digest)
    return rerun


def _machine(made: MadeWith) -> tuple[object, ...]:
    """Processor, versions and code."""
    return made.device, made.platform, *sorted({**made.versions, **made.content}.items())
