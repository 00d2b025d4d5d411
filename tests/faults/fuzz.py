"""Byte-level fuzzing: inputs made from valid ones, and the readers that they are fed to.

An input is named by its reader, the seed and its number, and can be made again from them.
"""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import torch
from uqbench_cluster.event_log import EventLog, EventLogWriter, FollowedOrder
from uqbench_cluster.orders import batches_of, by_digest, make_order, write_order
from uqbench_cluster.orders import read_order as read

from uqbench.api.status import run_status
from uqbench.boards import StoredBoard, check_scores, from_csv
from uqbench.boards.provenance import read_provenance
from uqbench.claim import ClaimKind
from uqbench.cli.options import settings as parsed
from uqbench.errors import UqbenchError
from uqbench.identity import digest_of
from uqbench.registry import Host
from uqbench.results import Folder, Store
from uqbench.results.files import read_bytes, stored_text
from uqbench.runner import checkpoints, events, make_batch_groups
from uqbench.runner.drive import Where
from uqbench.runner.step_log import latest_steps, read_log
from uqbench.suites import Plan, make_plan, read_suites

WORDS = (
    b"", b"\x00", b"\xff", b"\xed\xa0\x80", b"\n", b"\r", b'"', b"'", b"[", b"]", b"{", b"}", b"=",
    b",", b".", b"..", b"/", b"../", b"-", b"0", b"-1", b"1e999", b"nan", b"inf", b"9" * 400,
    b"1" * 5000,
    b"true", b"null", b"[" * 2000, b"{\"a\":" * 1000, b"[[a]]\n", b"a.a.a = 1\n", b"%s", b"\x1b[2J",
    b"of", b"cvar", b"(", b")", b"1979-05-27", b"0x7f", "é🙂".encode(),
)  # fmt: skip

Read = Callable[[bytes], object]


@dataclass(frozen=True)
class Reader:
    """A reader of files or text from elsewhere.

    Attributes:
        read: raises nothing but what a command turns into a message.
        examples: valid inputs.
        share: of all inputs that it gets.
    """

    name: str
    read: Read
    examples: tuple[bytes, ...]
    share: float


def inputs(reader: Reader, seed: int, number: int) -> Iterator[bytes]:
    """Mutated examples."""
    rng = random.Random(f"{reader.name}/{seed}")
    for _ in range(number):
        data = bytearray(rng.choice(reader.examples))
        for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
            _mutate(data, rng, reader.examples)
        yield bytes(data)


def _mutate(data: bytearray, rng: random.Random, examples: tuple[bytes, ...]) -> None:
    at = rng.randrange(len(data) + 1)
    to = min(len(data), at + rng.choice((1, 2, 4, 8, 32, 128)))
    match rng.randrange(7):
        case 0 if at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        case 1:
            del data[at:to]
        case 2:
            data[at:at] = rng.choice(WORDS)
        case 3:
            data[at:to] = rng.choice(WORDS)
        case 4:
            data[at:at] = data[at:to]
        case 5:
            del data[at:]
        case _:
            other = rng.choice(examples)
            data[at:to] = other[rng.randrange(len(other) + 1) :][: to - at]


def uncaught(reader: Reader, seed: int, number: int) -> Iterator[tuple[int, bytes, Exception]]:
    """The inputs that a reader raises on, as no reader may."""
    for i, data in enumerate(inputs(reader, seed, number)):
        try:
            reader.read(data)
        except (UqbenchError, click.ClickException):
            pass
        except Exception as error:  # what is looked for
            yield i, data, error


def readers(host: Host, plan: Plan, store: Store, board: dict[str, bytes], folder: Path) -> list[Reader]:  # fmt: skip # noqa: E501
    """All readers, with examples from a store and a board of the toy suite.

    Args:
        host: with the toy plugin.
        plan: of the toy suite; its runs are finished but one, which has a checkpoint.
        store: where they are.
        board: files of a leaderboard.
        folder: for the files that are read.
    """
    toy = next(path for path, plugin in host.suite_files if plugin.name == "toy")
    plugin, suite = host.suite_files[0][1], toy.read_bytes()
    extension = b"\n".join(
        [b'[[extend.toy.methods]]\nname = "third"\nagent = "walker"\nconfig = { forward = 0.5 }',
         b"[[extend.toy.claims]]" + suite.split(b"[[claims]]")[1].replace(b"first", b"again")]
    )  # fmt: skip
    path = folder / "input"

    def by(file: Path, read: Callable[[], object]) -> Read:
        """Reads what is written into a file."""
        return lambda data: (file.write_bytes(data), read())[1]

    read_suite = by(path, lambda: _catalog(host, [(path, plugin)], ()))
    both = [(toy, plugin), (path, plugin)]
    read_extension = by(path, lambda: _catalog(host, both, ("toy",)))

    def read_claims(data: bytes) -> object:
        path.write_bytes(suite.split(b"[[claims]]")[0] + b"[[claims]]" + data)
        made = _catalog(host, [(path, plugin)], ()).suites.get("toy")
        return None if made is None else [_claim(claim, host) for claim in made.claims]

    def read_setting(data: bytes) -> object:
        settings = parsed((data.decode("utf-8", "surrogateescape"),))
        of = {"device": "cpu", "tasks": ["short"], "settings": settings}
        return make_plan(plan.suite, host, "smoke", **of).runs[0].digest

    def read_risk(data: bytes) -> object:
        return host.risk_names.composite(data.decode("utf-8", "surrogateescape"))

    finished, unfinished = plan.runs[0], plan.runs[-1]
    scratch = Store(folder / "store")
    records = {run: (store.folder(run) / "run.json").read_bytes() for run in (finished, unfinished)}
    scratch.folder(finished).mkdir(parents=True)

    def told() -> object:
        return [json.dumps(run_status(*found, scratch, {})) for found in scratch.walk()]

    read_record = by(scratch.folder(finished) / "run.json", told)

    def read_sealed_record(data: bytes) -> object:
        """A record that is odd on purpose."""
        with suppress(ValueError, TypeError, AttributeError, RecursionError):
            table = json.loads(data)
            table.pop("digest", None)
            data = json.dumps(table | {"digest": digest_of(table)}).encode()
        return read_record(data)

    about = next(store.root.glob("**/checkpoint/checkpoint.json"))
    state, here = next(about.parent.glob("step-*.pt")), folder / "checkpoint"
    here.mkdir()
    (here / state.name).write_bytes(state.read_bytes())
    whole = checkpoints.read(Folder(about.parent))

    cpu, name = torch.device("cpu"), "scores.csv"
    read_about = by(here / about.name, lambda: checkpoints.read(Folder(here)))
    read_state = by(here / state.name, lambda: checkpoints.read_state(Folder(here), whole, cpu))

    def check() -> None:
        check_scores(from_csv(stored_text(read_bytes(path), path), name), plan, name)

    read_scores = by(path, check)
    read_packed = by(folder / f"{name}.gz", lambda: StoredBoard(Folder(folder)).unchecked(name))

    own = [store.folder(finished) / f"{of}.parquet" for of in ("metrics", "episodes")]
    tables = [file.read_bytes() for file in own]
    (scratch.folder(finished) / "episodes.parquet").write_bytes(tables[1])

    def read_table(data: bytes) -> object:
        (scratch.folder(finished) / "run.json").write_bytes(records[finished])
        (scratch.folder(finished) / "metrics.parquet").write_bytes(data)
        return scratch.columns(finished)

    [batch] = group = make_batch_groups(plan, {finished}, "cpu", 1)[0]
    order = make_order(plan, group, host, Where())
    write_order(order, scratch.root)
    writer = EventLogWriter(scratch.root, order)
    writer.add(events.Started(batch))
    writer.add(events.Notice(batch, "a word"))
    writer.add(events.Progress(batch, 3, 1.0, {finished.seed: {"reward": 1.0}}))
    [progress] = (scratch.root / ".orders").glob("*.progress")

    sent, known = order.path(scratch.root), by_digest(plan)
    read_order = by(sent, lambda: batches_of(read(sent), plan, known))

    def news() -> object:
        log = read_log(scratch.root, order.name, EventLog)
        events = [] if log is None else list(FollowedOrder(group, scratch).news(log))
        return events, latest_steps(scratch.root)

    read_progress = by(progress, news)
    values = "slow.forward=0.5", "fast.wrong='values'", "slow.healed=/tmp", "fast.raise_at=3"
    settings = tuple(value.encode() for value in values)
    names = (b"cvar(0.25) of wang(0.1)", b"mean-std(0.5)", b"expectation")
    return [
        Reader("suite", read_suite, (suite,), 0.06),
        Reader("extension", read_extension, (extension,), 0.004),
        Reader("claims", read_claims, (suite.split(b"[[claims]]")[1],), 0.04),
        Reader("--set", read_setting, settings, 0.08),
        Reader("risk", read_risk, names, 0.446),
        Reader("run.json", read_record, tuple(records.values()), 0.08),
        Reader("sealed run.json", read_sealed_record, tuple(records.values()), 0.05),
        Reader("checkpoint.json", read_about, (about.read_bytes(),), 0.05),
        Reader("step.pt", read_state, (state.read_bytes(),), 0.03),
        Reader("scores.csv", read_scores, (board["scores.csv"],), 0.03),
        Reader("scores.csv.gz", read_packed, (gzip.compress(board["scores.csv"]),), 0.02),
        Reader("made_with.json", read_provenance, (board["made_with.json"],), 0.02),
        Reader("parquet", read_table, (tables[0],), 0.05),
        Reader("order", read_order, (order.model_dump_json().encode(),), 0.02),
        Reader("progress", read_progress, (progress.read_bytes(),), 0.02),
    ]


def _catalog(host: Host, files: list[Any], check: tuple[str, ...]) -> Any:
    before, host.suite_files = host.suite_files, files
    try:
        return read_suites(host, check=check)
    finally:
        host.suite_files = before


def _claim(claim: Any, host: Host) -> ClaimKind:
    made: ClaimKind = claim.load(host, "claim")
    return made
