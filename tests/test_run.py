"""`uqbench run`, as a user runs it: a command in a process, on a plugin that is installed."""

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pandas
import pytest
from commands import begin, uqbench
from packed import read_scores, write_scores

from uqbench.seeding import derive_seed

N_RUNS = 12  # two tasks, two methods, three seeds


def run_toy(
    out: Path, *arguments: str, code: int = 0, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run it, in one process where the number is not said."""
    one = () if "--workers" in arguments else ("--workers", "1")
    command = ("run", "--suite", "toy", "--out", out, *one, *arguments)
    return uqbench(*command, code=code, variables=variables)


def states(out: Path) -> dict[str, str]:
    entries = json.loads(uqbench("status", "--out", out, "--json").stdout)
    return {entry["run"]: entry["state"] for entry in entries}


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A finished run of the whole suite: its folder, stdout and stderr."""
    out = tmp_path_factory.mktemp("finished") / "results"
    done = run_toy(out, "--workers", "1")
    return out, done.stdout, done.stderr


def test_says_beforehand_what_will_run_and_promises_no_time_of_another_machine(finished):
    _, _, stderr = finished
    announcement = stderr.split("all runs")[0]
    assert "12 runs of 600 steps: slow, fast on short, long" in announcement
    assert "On cpu, 1 process. Safe to interrupt; run again to resume." in announcement
    assert "about" not in announcement


def test_progress_goes_to_stderr_and_the_table_with_its_path_to_stdout(finished):
    out, stdout, stderr = finished
    lines = [line for line in stderr.splitlines() if line.startswith("all runs: ")]
    assert 1 <= len(lines) <= 3  # one a minute, and the last
    assert lines[-1].startswith("all runs: 100%, in ")
    assert sum("100%" in line for line in lines) == 1
    assert "all runs" not in stdout
    *_, path, report = stdout.splitlines()
    assert path == str(out / "leaderboards/toy/paper/leaderboard.csv")
    assert report == f"report: {out / 'report.html'} (open it)"


def test_running_again_does_nothing_and_changes_no_byte(finished):
    out, stdout, _ = finished
    before, again = files(out), run_toy(out)
    assert f"{N_RUNS} finished: not run again" in again.stderr
    assert "all runs" not in again.stderr
    assert (again.stdout, files(out)) == (stdout, before)


def test_a_run_is_identified_by_what_was_set(tmp_path):
    one = ("--methods", "slow", "--seeds", "1", "--tasks", "short")
    run_toy(tmp_path, *one)
    run_toy(tmp_path, *one, "--set", "slow.forward=0.5")
    run_toy(tmp_path, *one, "--steps", "300")
    folders = sorted(tmp_path.glob("toy/paper/short/slow/0-*"))
    assert len(folders) == 3
    identities = [json.loads((f / "run.json").read_text())["identity"] for f in folders]
    assert {i["method"]["config"]["forward"] for i in identities} == {0.5, 0.6}
    assert {i["budget"]["steps"] for i in identities} == {300, 600}


def test_a_method_that_raises_fails_with_its_reason_and_the_suite_goes_on(tmp_path):
    healed = tmp_path / "healed"
    settings = ("--set", "slow.raise_at=50", "--set", f"slow.healed={healed}")
    out = tmp_path / "results"
    done = run_toy(out, *settings, code=1)
    assert "RuntimeError: the walker stumbled" in done.stderr
    found = states(out)
    assert sorted(found.values()) == ["failed"] * 6 + ["finished"] * 6
    assert all(("/slow/" in run) == (state == "failed") for run, state in found.items())
    record = json.loads((out / next(r for r in found if "/slow/" in r) / "run.json").read_text())
    assert record["reason"].startswith("RuntimeError: the walker stumbled (")
    assert "walker.py" in record["traceback"]
    assert "6 of 12 planned runs have no score: " in done.stdout
    healed.touch()
    assert "6 failed: again" in run_toy(out, *settings).stderr
    assert list(states(out).values()) == ["finished"] * N_RUNS


def test_a_lane_that_fails_does_not_take_the_others_with_it(tmp_path):
    done = run_toy(
        tmp_path, "--tasks", "short", "--methods", "slow", "--set", "slow.wrong=range", "--set",
        "slow.only_below=0.5", "--seeds", "8", "--workers", "1", code=1)  # fmt: skip
    assert "retrying 1 run at a time" in done.stderr
    assert sorted(set(states(tmp_path).values())) == ["failed", "finished"]


def test_a_numpy_that_lacks_what_all_need_is_said_once_and_nothing_is_retried(tmp_path):
    done = run_toy(tmp_path, "--workers", "1", code=1, variables={"TOY_ROW_STACK": "1"})
    reason = "AttributeError: module 'numpy' has no attribute 'row_stack_of_before'"
    assert "FAILED" not in done.stderr  # no run was tried alone
    said = f"all that was begun failed for one reason, {reason}[^;]*; what was left was not tried; "
    assert len(re.findall(f"{said}uqbench doctor looks for what is wrong here", done.stderr)) == 1
    assert list(states(tmp_path).values()).count("failed") == 9  # what begins meanwhile is stopped


@pytest.mark.long
def test_what_is_trained_is_judged_by_the_next_command_with_the_same_scores(finished, tmp_path):
    some = "--tasks", "short", "--methods", "fast", "--workers", "1"
    done = run_toy(tmp_path, *some, "--train-only")
    assert "3 runs trained, to be judged: the same command with --judge" in done.stderr
    assert "failed in uqbench_run_finished" not in done.stderr
    assert "3 of 3 planned runs have no score: " in done.stdout
    assert list(states(tmp_path).values()) == ["trained"] * 3
    run_toy(tmp_path, *some, "--judge")
    out, *_ = finished
    for run in states(tmp_path):
        mine, theirs = (json.loads((of / run / "run.json").read_text()) for of in (tmp_path, out))
        assert mine["digests"] == theirs["digests"]


def test_a_reward_that_is_no_number_fails_its_run_alone_and_the_board_is_written(tmp_path):
    seed = str(derive_seed("environment", "toy", "short", 1))
    done = run_toy(tmp_path, "--budget", "smoke", code=1, variables={"TOY_NAN": seed})
    found = states(tmp_path)
    assert sorted(found.values()) == ["failed"] * 2 + ["finished"] * 6
    assert all("/short/" in run and "/1-" in run for run, s in found.items() if s == "failed")
    reason = "the environment 'corridor' returned the reward nan in lane 0 at step 120"
    assert done.stderr.count(f"/1: FAILED: UqbenchError: {reason}") == 2
    assert "2 of 8 planned runs have no score: " in done.stdout
    assert (tmp_path / "leaderboards" / "toy" / "smoke" / "leaderboard.csv").exists()


def test_two_processes_on_one_store_share_the_work_and_run_nothing_twice(tmp_path):
    slowly, logs = ("--set", "slow.step_seconds=0.002"), [tmp_path / "log-0", tmp_path / "log-1"]
    both = [
        begin(tmp_path, *slowly, "--workers", "1", variables={"TOY_LOG": str(log)}) for log in logs
    ]
    texts = [process.communicate(timeout=600) for process in both]
    assert [process.returncode for process in both] == [0, 0], texts
    assert list(states(tmp_path).values()) == ["finished"] * N_RUNS
    told = [log.read_text().splitlines() for log in logs]
    runs = [line for lines in told for line in lines if line.startswith("finished")]
    assert all(told)
    assert len(set(runs)) == len(runs) == N_RUNS
    assert texts[0][0] == texts[1][0]  # both end with the whole leaderboard


def test_a_newer_schema_is_refused(tmp_path):
    one = ("--methods", "fast", "--tasks", "short", "--seeds", "1")
    run_toy(tmp_path, *one)
    path = next(tmp_path.glob("toy/paper/short/fast/0-*/run.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 99}))
    done = run_toy(tmp_path, *one, code=2)
    assert "it has schema 99, this uqbench reads up to 4: update uqbench" in done.stderr


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for some of the runs."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a tmpfs")
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


def make_room(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)


def test_a_full_disk_loses_nothing_that_is_finished(disk):
    done = run_toy(disk, "--workers", "1", code=1)
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("FAILED") == 1  # the others are not tried
    assert "the disk is full; what was left was not tried" in done.stderr
    before = list(states(disk).values()).count("finished")
    assert 0 < before < N_RUNS
    make_room(disk)
    assert f"{before} finished: not run again" in run_toy(disk).stderr
    assert list(states(disk).values()) == ["finished"] * N_RUNS


def test_a_process_takes_over_what_another_one_left_when_it_was_killed(tmp_path):
    both = []
    for _ in range(2):
        process = begin(
            tmp_path, "--workers", "1", "--methods", "slow", "--set", "slow.step_seconds=0.005"
        )
        while "all runs" not in (line := process.stderr.readline()):
            assert line
        both.append(process)
    first, second = both
    first.kill()
    first.communicate()
    second.communicate(timeout=600)
    assert second.returncode == 0
    assert list(states(tmp_path).values()) == ["finished"] * (N_RUNS // 2)


def test_a_plugin_whose_hook_raises_is_named_and_stops_nothing(tmp_path):
    done = run_toy(
        tmp_path, "--methods", "fast", "--tasks", "short", "--seeds", "1",
        variables={"TOY_HOOK_RAISES": "1"})  # fmt: skip
    complaint = "the plugin toy-uqbench:toy failed in uqbench_run_finished: OSError: no network"
    assert complaint in done.stderr
    assert list(states(tmp_path).values()) == ["finished"]


def test_life_cycle_hooks_are_told_every_run(tmp_path):
    log = tmp_path / "log"
    run_toy(
        tmp_path / "results", "--tasks", "short", "--seeds", "1", "--set", "slow.raise_at=9",
        variables={"TOY_LOG": str(log)}, code=1)  # fmt: skip
    assert sorted(log.read_text().splitlines()) == [
        "failed short slow 0 RuntimeError: the walker stumbled (walker.py:52, in observe)",
        "finished short fast 0 online_return",
        "started short fast 0",
        "started short slow 0",
    ]


def test_provenance_names_every_package_that_takes_part(finished):
    out, *_ = finished
    record = json.loads(next(out.glob("toy/paper/long/fast/0-*/run.json")).read_text())
    assert set(record["provenance"]["content"]) == {"uqbench", "toy_uqbench"}
    assert {"uqbench", "toy-uqbench", "torch", "numpy"} <= set(record["provenance"]["versions"])


def test_a_dry_run_says_what_would_run_by_method_and_writes_nothing(tmp_path):
    done = run_toy(tmp_path / "nothing", "--dry-run", "--seed", "7")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["slow", "2", "0"] in [line[:3] for line in lines]
    assert ["fast", "2", "0"] in [line[:3] for line in lines]
    assert "\nin all, on one core: 24 s (from a nominal 10 ms" in done.stdout
    assert not (tmp_path / "nothing").exists()


def test_a_dry_run_takes_the_times_of_a_stored_board_where_it_has_no_runs(finished, tmp_path):
    boards = shutil.copytree(finished[0] / "leaderboards", tmp_path / "leaderboards")
    assert run_toy(tmp_path, "--dry-run").stdout.count(f"(from {boards}/toy/paper/cost.csv)") == 1


def test_run_json_follows_its_published_schema(finished):
    out, *_ = finished
    schema = json.loads((Path(__file__).parents[1] / "docs" / "run.schema.json").read_text())
    paths = list(out.glob("toy/*/*/*/*/run.json"))
    assert len(paths) == N_RUNS
    for path in paths:
        jsonschema.validate(json.loads(path.read_text()), schema)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--suite", "toy", "--methods", "walker"), "uqbench try walker --suite toy needs none"),
        (("--suite", "toy", "--tasks", "lnog"), "toy has no task 'lnog'. Did you mean 'long'?"),
        (("--suite", "toy", "--budget", "papr"), "Did you mean 'paper'?"),
        (("--suite", "toy", "--set", "fast.forwrad=1.0"), "Did you mean 'forward'?"),
        (("--suite", "toy", "--set", "fast.forward=high"), "forward: Input should be a valid num"),
        (("--suite", "toy", "--set", "fats.forward=1.0"), "--set: the plan has no method 'fats'"),
        (("--suite", "toy", "--set", "forward"), "expected METHOD.KEY=VALUE"),
        (("--suite", "toy", "--seeds", "99999999"), "from 1 to 10,000"),
        (("--suite", "toy", "--set", "fast.forward=nan"), "not JSON compliant"),
        (("--suite", "toy", "--seed", "3", "--seed", "3"), "--seed 3 appears more than once"),
        (("--suite", "toy", "--seed", "3", "--seeds", "3"), "use one of them"),
        (("--suite", "toy", "--judge", "--train-only"), "use one of them"),
        (("--suite", "toy", "--steps", "0"), "'0': expected a whole number from 1"),
        (("--suite", "toy", "--device", "cuda"), "use --device cpu"),
        (("--suite", "toy", "--out", "/proc/nothing"), "Results cannot be written to"),
    ],
)
def test_a_command_that_cannot_be_understood_says_what_was_expected(arguments, message):
    done = uqbench("run", *arguments, code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def table(path: Path) -> dict[str, dict[str, str]]:
    with path.open() as file:
        return {row["method"]: row for row in csv.DictReader(file)}


def test_a_board_keeps_fifty_points_of_a_learning_curve(finished):
    out, *_ = finished
    curves = pandas.read_parquet(out / "leaderboards/toy/paper/curves.parquet")
    for (task, method), own in curves.groupby(["task", "method"], observed=True):
        assert own["step"].tolist() == [12 * k for k in range(1, 51)]
        shown, within = own.dropna(subset="value").iloc[0], []
        for path in (out / f"toy/paper/{task}/{method}").glob("*/episodes.parquet"):
            of = pandas.read_parquet(path)
            of = of[(of["phase"] == "training") & (of["end"] != "unfinished")]
            of = of[(of["step"] > shown["step"] - 12) & (of["step"] <= shown["step"])]
            within += [of["return"].mean()] * bool(len(of))
        assert shown["runs"] == len(within)
        assert shown["value"] == pytest.approx(sum(within) / len(within), rel=1e-6)


def test_a_board_by_another_risk_measure_is_computed_from_stored_episodes(finished, tmp_path):
    """cvar(0.25) of what the suite's own metric has cvar(0.25) of."""
    out, *_ = finished
    command = ("leaderboard", "--suite", "toy", "--out", out, "--to", tmp_path)
    uqbench(*command, "--risk", "cvar(0.25)")
    shown = table(tmp_path / "toy/paper-cvar-0-25/leaderboard.csv")
    own = table(out / "leaderboards/toy/paper/leaderboard.csv")
    for method in ("fast", "slow"):
        assert shown[method]["mean"] == own[method]["online_cvar25_mean"] != own[method]["mean"]
    assert "no risk measure 'cvra'" in uqbench(*command, "--risk", "cvra(0.1)", code=2).stderr


@pytest.mark.long
def test_rows_of_a_stored_board_are_made_again_and_compared_bit_for_bit(finished, tmp_path):
    out, *_ = finished
    boards, again = tmp_path / "boards", tmp_path / "again"
    shutil.copytree(out / "leaderboards", boards)
    uqbench("run", "--suite", "toy", "--methods", "fast", "--seed", "1", "--out", again)
    command = ("leaderboard", "--suite", "toy", "--to", boards, "--out", again, "--check")
    assert "2 of its 12 rows compared with runs in" in uqbench(*command).stdout
    stored = boards / "toy/paper"
    write_scores(stored, re.sub(r",[0-9a-f]{64},", f",{'0' * 64},", read_scores(stored)))
    assert uqbench(*command, code=1).stdout.count("differs from the run in") == 2


def test_own_runs_are_shown_in_a_stored_board_that_is_not_made_again(finished, tmp_path):
    boards = tmp_path / "boards"
    shutil.copytree(finished[0] / "leaderboards", boards)
    out, row = tmp_path / "mine", tmp_path / "third.toml"
    row.write_text('[[extend.toy.methods]]\nname = "third"\nagent = "walker"\n')
    command = (out, "--plugin", row, "--methods", "third", "--beside", boards, "--workers", "1")
    done = run_toy(*command)
    assert {path.name for path in out.glob("toy/paper/*/*")} == {"third"}
    (path,) = out.glob("leaderboards/toy/*/leaderboard.csv")
    shown = table(path)
    scored = {name: row["runs_scored"] for name, row in shown.items()}
    assert scored == {"fast": "6", "slow": "6", "third": "6"}
    assert {name for name, row in shown.items() if row["stored_in"]} == {"fast", "slow"}
    assert sorted(row["rank"] for row in shown.values()) == ["1", "2", "3"]
    assert len((path.parent / "pairs.csv").read_text().splitlines()) == 1 + 3
    assert "fast (stored)" in done.stdout
    page = (path.parent / "README.md").read_text().replace("\n", " ")
    assert f"Stored rows are from {boards}" in page
    assert shown["fast"]["iqm"] == table(boards / "toy/paper/leaderboard.csv")["fast"]["iqm"]
    changed = re.sub(r"(/fast/0)-\w{8}", r"\1-00000000", read_scores(boards / "toy/paper"))
    write_scores(boards / "toy/paper", changed)
    assert "was run with other settings or versions" in run_toy(*command, code=2).stderr


def test_doctor_sees_the_plugin_and_a_folder_that_cannot_be_written():
    told = uqbench("doctor", "--out", "/proc/nothing", code=1).stdout
    assert "plugin toy (toy-uqbench 0.1): environment corridor, agent walker" in told
    (wrong,) = [line for line in told.splitlines() if line.startswith("WRONG")]
    assert "/proc/nothing" in wrong
