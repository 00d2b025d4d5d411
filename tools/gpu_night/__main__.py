"""A night on one GPU of a bare, offline machine, in minutes: what is complete comes back.

``python tools/gpu_night --out OUT --wheels WHEELS --suite minatar --budget night`` has five steps,
with a limit on each, and stops at the first that fails, saying ``FAILED step N: reason``:

1. the wheels that ``wheels.py`` made are installed into a folder, and imported;
2. ``uqbench doctor``, a kernel, a compiled gradient, and each phase of each method (``doctor.py``);
   a method that fails there alone is left out, by name;
3. one method, one seed, the whole path;
4. the methods, the cheapest first, as processes beside each other while memory lasts; what is
   complete is packed every few seconds;
5. what is left is stopped, and packed.

``OUT`` gets ``summary.json``, which says what is complete and comes back, ``night.log``, and
archives: ``scores-*.tar`` of finished runs, ``weights-*.tar`` of runs that are trained and not yet
judged, ``agents-*.tar`` of some judged ones before they were judged. Unpacked in one folder, the
first two are a store: ``uqbench run --judge … --out results`` does the rest, and makes the board.
Exit 0: all is complete; 1: not, and the summary says what.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from archives import Archives, Files

HERE = Path(__file__).parent
MIB, GIB = 2**20, 2**30
BASE = 1.5 * GIB
"""Memory of a method's processes before its first run: the context, and what compiles."""
SPARE = 1.3
"""Memory of runs that compute, over that of their tensors between two steps."""
KEPT_SEEDS = 3
"""Runs of a method and task whose agents come back though they are judged."""
TRAINING = ("agent.pt", "training.pt")
RECORD = "run.json"
OWN_FILES = 2
"""The summary and the log."""
LOG_BYTES = 16 * 1024
LOG_ROOM = 64 * LOG_BYTES
"""The end of what each process wrote, on stderr and stdout, and room for all of them."""
END_SECONDS = 12.0
"""For processes to end by themselves."""
CHECK = """
import json, numba, numpy, pandas, torch, uqbench
print(json.dumps({one.__name__: one.__version__ for one in (numba, numpy, pandas, torch, uqbench)}))
assert {device!r} == "cpu" or torch.cuda.is_available(), "torch finds no CUDA device"
"""


class StepError(Exception):
    """A step that failed; its message is the reason."""


class Process:
    """A command in a session of its own, whose output goes to a file.

    Args:
        name: of the file.
        command: what to run.
        folder: of the file.
        environment: of the command.
    """

    def __init__(
        self, name: str, command: Sequence[str], folder: Path, environment: dict[str, str]
    ) -> None:
        self.name, self.log, self.result = name, folder / f"{name}.log", folder / f"{name}.out"
        with self.log.open("ab") as log, self.result.open("wb") as result:
            self._popen = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=result, stderr=log, env=environment,
                start_new_session=True,
            )  # fmt: skip

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._popen.poll()

    @property
    def said(self) -> str:
        """The last line that it wrote on stderr, or else on stdout."""
        for path in (self.log, self.result):
            lines = [line.strip() for line in tail(path).splitlines() if line.strip()]
            if lines:
                return lines[-1][:300]
        return f"it ended with {self.code}, without a word"

    def end(self, seconds: float) -> None:
        """Ask it to end, then kill what is left of its session."""
        if self.code is None:
            self._popen.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(seconds)
        for pid in of_session(self._popen.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._popen.wait()


def of_session(leader: int) -> Iterator[int]:
    """The processes of a session; workers have groups of their own in it."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[3]) == leader:
                yield int(path.parent.name)


def tail(path: Path) -> str:
    """The end of a text file."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LOG_BYTES))
        return file.read().decode(errors="replace")


class Night:
    """All that is done, and what is known of it.

    Attributes:
        seconds: expected of each method that takes part, the cheapest first.
        left_out: reasons, of methods that do not.
        failed: ``step N: reason`` of the step at which it stopped; empty where none did.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self._began = options, time.monotonic()
        self.work: Path = options.work.absolute()
        self.out: Path = options.out.absolute()
        self.store = self.work / "results"
        for folder in (self.work / "logs", self.work / "trained", self.out):
            folder.mkdir(parents=True, exist_ok=True)
        site = str(self.work / "site") if options.wheels else ""
        path = os.pathsep.join(filter(None, [site, os.environ.get("PYTHONPATH", "")]))
        self.environment = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
        each = int(options.file_mib * MIB)
        together = int(options.all_mib * MIB) - LOG_ROOM
        self.archives = Archives(self.out, options.files - OWN_FILES, each, together)
        self.seconds: dict[str, float] = {}
        self.left_out: dict[str, str] = {}
        self.failed = ""
        self._runs: dict[str, int] = {}
        self._tasks: list[str] = []
        self._needs: dict[str, float] = {}
        self._free = 0.0
        self._finished: dict[str, dict[str, Any]] = {}
        self._processes: list[Process] = []
        self._packed_at = 0.0

    @property
    def left(self) -> float:
        """Seconds until all is over."""
        return self.options.seconds - (time.monotonic() - self._began)

    def say(self, text: str) -> None:
        """Tell whoever watches."""
        print(f"[{time.monotonic() - self._began:5.0f} s] {text}", file=sys.stderr, flush=True)

    def start(self, name: str, command: Iterable[str]) -> Process:
        """Start a command of this Python."""
        process = Process(name, [sys.executable, *command], self.work / "logs", self.environment)
        self._processes.append(process)
        return process

    def start_other(self, name: str, command: str) -> Process:
        """Start a command line of its own; what it prints is in the log."""
        process = Process(name, shlex.split(command), self.work / "logs", self.environment)
        self._processes.append(process)
        return process

    def wait(self, processes: Sequence[Process], seconds: float) -> None:
        """Wait until all have ended, and end those that take longer."""
        until = time.monotonic() + min(seconds, self.left - self.options.last)
        while any(one.code is None for one in processes) and time.monotonic() < until:
            time.sleep(0.1)
        for one in processes:
            if one.code is None:
                one.end(END_SECONDS)
                with one.log.open("a") as log:
                    print(f"it took more than {seconds:.0f} s, or there was no time", file=log)

    def do(self, name: str, command: Iterable[str], seconds: float) -> str:
        """Run a command to its end; return what it printed.

        Raises:
            StepError: it failed.
        """
        process = self.start(name, command)
        self.wait([process], seconds)
        if process.code:
            raise StepError(f"{name}: {process.said}")
        return process.result.read_text("utf-8")

    # -- the steps ---------------------------------------------------------------------------------

    def install(self) -> None:
        """Step 1: the wheels, and what is imported."""
        if self.options.wheels:
            wheels = sorted(map(str, self.options.wheels.glob("*.whl")))
            command = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile"]
            command += ["--no-cache-dir", "--target", str(self.work / "site"), *wheels]
            self.do("pip", command, self.options.install_seconds)
        check = CHECK.replace("{device!r}", repr(self.options.device))
        self.say(self.do("imports", ["-c", check], self.options.install_seconds).strip())

    def examine(self) -> None:
        """Step 2: the machine, then each method, beside each other."""
        seconds = self.options.doctor_seconds
        doctor = self.start("doctor", ["-m", "uqbench", "doctor", "--out", str(self.work / "try")])
        machine = self.start("machine", [str(HERE / "doctor.py"), self._as_json()])
        self.wait([doctor, machine], seconds)
        wrong = [line for line in tail(doctor.result).splitlines() if line.startswith("WRONG")]
        if doctor.code or wrong:
            raise StepError(f"uqbench doctor: {(wrong or [doctor.said])[0]}")
        if machine.code:
            raise StepError(machine.said)
        found = json.loads(machine.result.read_text("utf-8"))
        self._free = self.options.memory_gib * GIB or found["free"]
        cheapest = sorted(found["seconds"].items(), key=lambda item: item[1])
        self._runs, self._tasks = found["runs"], found["tasks"]
        looks = {
            name: self.start(f"look-{name}", [str(HERE / "doctor.py"), self._as_json(), name])
            for name, _ in cheapest
        }
        self.wait([*looks.values()], seconds)
        for name, cost in cheapest:
            if looks[name].code:
                self.left_out[name] = looks[name].said
                self.say(f"{name} is left out: {looks[name].said}")
                continue
            known = json.loads(looks[name].result.read_text("utf-8"))
            self.seconds[name] = cost
            self._needs[name] = BASE + SPARE * known["bytes"] * found["runs"][name]
            self.say(f"{name}: {known['phases']} phases, {self._needs[name] / GIB:.1f} GiB")
        if not self.seconds:
            raise StepError(f"every method: {next(iter(self.left_out.values()), 'there is none')}")

    def one(self) -> None:
        """Step 3: one method, one seed, one task, from its first step to its scores."""
        method = next(iter(self.seconds))
        task = ["--tasks", self._tasks[0], "--seed", "0"]
        self.do("one", self._run(method, *task), self.options.one_seconds)
        if not any(record["status"] == "finished" for record in self.records().values()):
            raise StepError("the run of one seed did not finish")

    def all(self) -> None:
        """Step 4: the methods, while there is time; packed now and then."""
        queue, running, then = list(self.seconds), dict[str, Process](), self.options.then
        beside, until = None, 0.0
        if self.options.before:
            before = self.start_other("before", self.options.before)
            self.wait([before], self.options.one_seconds)
            self.say(f"{self.options.before}: ended with {before.code}")
        while (queue or running) and self.left > self.options.last:
            for name in [name for name, process in running.items() if process.code is not None]:
                ended = running.pop(name)
                self.say(f"{name} ended with {ended.code}")
                if then:
                    beside, then = self.start_other("then", then), ""
                    until = time.monotonic() + self.options.then_seconds
            for name in list(queue):
                taken = sum(self._needs[other] for other in running)
                if not running or taken + self._needs[name] <= self._free:
                    self.say(f"{name} begins")
                    running[name] = self.start(f"run-{name}", self._run(name))
                    queue.remove(name)
            if beside is not None and time.monotonic() >= until:
                beside.end(1.0)
                beside = None
            self.keep_trained()
            if time.monotonic() - self._packed_at >= self.options.pack_seconds:
                self.pack()
            time.sleep(0.2)

    def stop(self) -> None:
        """Step 5: pack what there is, end what runs, and pack again."""
        self.pack()
        for process in self._processes:
            if process.code is None:
                process.end(min(END_SECONDS, max(1.0, self.left / 3)))
        self.pack()

    # -- what is stored ----------------------------------------------------------------------------

    def records(self) -> dict[str, dict[str, Any]]:
        """The record of each run that there is, by its place in the store."""
        found = dict(self._finished)
        for path in self.store.glob(f"*/*/*/*/*/{RECORD}"):
            place = str(path.parent.relative_to(self.store))
            if place not in found and not place.startswith("."):
                with suppress(OSError, ValueError):  # it is being replaced
                    found[place] = json.loads(path.read_bytes())
                    if found[place]["status"] == "finished":
                        self._finished[place] = found[place]
        return found

    def keep_trained(self) -> None:
        """Link the training of runs that are not judged yet: judging will remove it."""
        for place, record in self.records().items():
            kept, folder = self.work / "trained" / place, self.store / place
            if record["status"] == "finished" or not record["digests"] or kept.exists():
                continue
            beside = kept.with_name(f".{kept.name}")
            beside.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # it is judged meanwhile
                for name in TRAINING:
                    (beside / name).unlink(missing_ok=True)
                    (beside / name).hardlink_to(folder / name)
                (beside / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
                beside.rename(kept)

    def pack(self) -> None:
        """Write the archives, then the log and the summary."""
        self.keep_trained()
        records = self.records()
        by_price = sorted(records, key=lambda place: (self._price(place), place))
        done = [place for place in by_price if records[place]["status"] == "finished"]
        trained = [p for p in by_price if (self.work / "trained" / p).exists()]
        scores = {place: self._files("results", self.store, place) for place in done}
        weights = {
            place: self._files("results", self.work / "trained", place)
            for place in trained
            if place not in scores
        }
        agents = {
            place: self._files("trained", self.work / "trained", place)
            for place in trained
            if place in scores and records[place]["identity"]["seed"] < KEPT_SEEDS
        }
        self.archives.pack({"scores": scores, "weights": weights, "agents": agents})
        self._packed_at = time.monotonic()
        with suppress(OSError):  # a full disk has no room for a log; the summary says so
            self._write("night.log", self._log())
        summary = json.dumps(self.summary(records), indent=1) + "\n"
        try:
            self._write("summary.json", summary)
        except OSError as error:
            self.say(f"the summary cannot be written: {error.strerror}\n{summary}")

    def summary(self, records: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """What is complete, and what of it is in the archives, by method."""
        scores, weights = self.archives.packed("scores"), self.archives.packed("weights")
        methods = {}
        for name in (*self.seconds, *self.left_out):
            own = {p: record for p, record in records.items() if p.split("/")[3] == name}
            reasons = [record["reason"] for record in own.values() if record["status"] == "failed"]
            methods[name] = {
                "planned": self._runs.get(name, 0),
                "finished": sum(record["status"] == "finished" for record in own.values()),
                "trained": sum(is_trained(record) for record in own.values()),
                "scores_back": len(scores & own.keys()),
                "weights_back": len(weights & own.keys()),
                "reason": self.left_out.get(name) or next(filter(None, reasons), ""),
            }
        complete = (
            bool(methods)
            and not self.failed
            and all(one["planned"] == one["scores_back"] for one in methods.values())
        )
        return {
            "complete": complete,
            "failed": self.failed,
            "full": self.archives.full,
            "seconds": round(self.options.seconds - self.left, 1),
            "device": self.options.device,
            "methods": methods,
        }

    def _files(self, top: str, root: Path, place: str) -> Files:
        files = sorted(path for path in (root / place).iterdir() if path.is_file())
        return {f"{top}/{place}/{path.name}": path for path in files}

    def _price(self, place: str) -> float:
        return self.seconds.get(place.split("/")[3], float("inf"))

    def _log(self) -> str:
        return "".join(
            f"== {one.name}: {one.code}\n{tail(one.log)}\n{tail(one.result)}\n"
            for one in self._processes
        )

    def _write(self, name: str, text: str) -> None:
        beside = self.out / f".{name}.part"
        try:
            beside.write_text(text, "utf-8")
            beside.replace(self.out / name)
        except OSError:
            beside.unlink(missing_ok=True)
            raise

    # -- commands ----------------------------------------------------------------------------------

    def _as_json(self) -> str:
        given = self.options
        options: dict[str, Any] = {"suite": given.suite, "budget": given.budget}
        options |= {"device": given.device, "plugins": [str(path) for path in given.plugin]}
        for name in ("methods", "tasks"):
            if getattr(given, name):
                options[name] = getattr(given, name).split(",")
        return json.dumps(options | ({"seeds": given.seeds} if given.seeds else {}))

    def _run(self, method: str, *one: str) -> list[str]:
        given = self.options
        command = ["-m", "uqbench", "run", "--suite", given.suite, "--budget", given.budget]
        command += ["--methods", method, "--device", given.device, "--out", str(self.store)]
        command += ["--workers", str(given.workers), "--checkpoint-seconds", "600"]
        for path in given.plugin:
            command += ["--plugin", str(path)]
        if not one:
            command += ["--tasks", given.tasks] if given.tasks else []
            command += ["--seeds", str(given.seeds)] if given.seeds else []
        return [*command, *one]


def is_trained(record: dict[str, Any]) -> bool:
    """Whether a run is trained, and not judged."""
    return record["status"] != "finished" and bool(record["digests"])


def through(night: Night) -> None:
    """The steps, one after another; the one that fails is said."""
    steps = (night.install, night.examine, night.one, night.all)
    for number, step in enumerate(steps, 1):
        night.say(f"step {number}: {(step.__doc__ or '').partition(': ')[2].partition('.')[0]}")
        try:
            if night.left <= night.options.last:
                raise StepError("there is no time left for it")
            step()
            night.pack()
        except StepError as error:
            night.failed = f"step {number}: {error}"
            print(f"FAILED {night.failed}", flush=True)
            return


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="gpu_night", description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--out", type=Path, required=True, help="what comes back")
    add("--work", type=Path, default=Path("gpu-night"), help="everything else")
    add("--wheels", type=Path, help="folder of wheels; without, what is installed")
    add("--suite", default="minatar")
    add("--budget", default="night")
    add("--methods", default="", help="A,B; all of the budget by default")
    add("--tasks", default="")
    add("--seeds", type=int, default=0)
    add("--plugin", type=Path, action="append", default=[])
    add("--device", default="cuda", help="cpu: a rehearsal")
    add("--workers", type=int, default=1, help="processes of each method")
    add("--before", default="", help="a command before step 4: 'nvidia-cuda-mps-control -d'")
    add("--then", default="", help="one beside it, once the first method is through")
    add("--seconds", type=float, default=570.0, help="that there are in all")
    add("--install-seconds", type=float, default=60.0, help="most of step 1")
    add("--doctor-seconds", type=float, default=90.0, help="most of each half of step 2")
    add("--one-seconds", type=float, default=60.0, help="most of step 3")
    add("--then-seconds", type=float, default=40.0)
    add("--pack-seconds", type=float, default=20.0, help="between two packings")
    add("--last", type=float, default=45.0, help="seconds for the last packing")
    add("--files", type=int, default=8, help="most files that come back")
    add("--file-mib", type=float, default=16.0, help="most of a file")
    add("--all-mib", type=float, default=64.0, help="most of all files")
    add("--memory-gib", type=float, default=0.0, help="of the device; 0: what is free")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Do it all; the exit code."""
    night = Night(parsed(arguments))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        through(night)
    except KeyboardInterrupt:
        night.failed = "step 4: interrupted"
    finally:
        night.say("step 5: packing")
        night.stop()
    summary = night.summary(night.records())
    print(json.dumps(summary, indent=1))
    return 0 if summary["complete"] else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
