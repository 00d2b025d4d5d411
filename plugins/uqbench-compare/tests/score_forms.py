"""Score files in the real form of public ones, with invented numbers, and changes made to them.

Headers are those of W&B's exports of a chart and a table, of MLflow's ``search_runs``, of
Stable-Baselines3's monitors and rl-zoo's folders, and of published files of Atari scores.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

METHODS, TASKS, SEEDS = ("dqn", "ppo"), ("Acrobot-v1", "CartPole-v1"), (1, 2, 3, 4)
STEPS = tuple(range(50, 1001, 50))
EPISODES, LENGTH = 40, 25


def drawn() -> dict[tuple[str, str, int], np.ndarray]:
    """The learning curve of each run at ``STEPS``; dqn ends at about 8, ppo at about 3."""
    generator, curves = np.random.default_rng(7), {}
    for method, task, seed in product(METHODS, TASKS, SEEDS):
        rise = np.linspace(0, 8.0 if method == "dqn" else 3.0, len(STEPS))
        curves[method, task, seed] = np.round(rise + generator.normal(0, 0.4, len(STEPS)), 3)
    return curves


CURVES = drawn()


def long() -> pd.DataFrame:
    """A row a step."""
    rows = [
        (m, t, str(s), str(step), str(x))
        for (m, t, s), curve in CURVES.items()
        for step, x in zip(STEPS, curve, strict=True)
    ]
    return pd.DataFrame(rows, columns=["algo", "env_id", "seed", "global_step", "return"])


def runs() -> pd.DataFrame:
    """A row a run: the value at the last step."""
    rows = [(m, t, str(s), str(curve[-1])) for (m, t, s), curve in CURVES.items()]
    return pd.DataFrame(rows, columns=["algo", "env_id", "seed", "return"])


def wandb_table() -> pd.DataFrame:
    table = runs().rename(columns={"algo": "exp_name", "return": "charts/episodic_return"})
    names = [f"{e}__{m}__{s}__17{s}" for m, e, s in table[["exp_name", "env_id", "seed"]].values]
    table.insert(0, "Name", names)
    table.insert(1, "State", "finished")
    return table.assign(Runtime="3600", Notes="-", Created="2024-05-01T10:00:00.000Z")


def mlflow() -> pd.DataFrame:
    table = runs()
    table.columns = ["params.algo", "params.env_id", "params.seed", "metrics.return"]
    table.insert(0, "run_id", [f"{k:032x}" for k in range(len(table))])
    table.insert(1, "status", "FINISHED")
    return table.assign(**{"tags.mlflow.user": "me", "artifact_uri": "s3://x"})


def wandb_chart() -> pd.DataFrame:
    columns = {"global_step": [str(s) for s in STEPS]}
    for (method, task, seed), curve in CURVES.items():
        run = f"{task}__{method}__{seed}__17146{seed}"
        text = [str(x) for x in curve]
        columns |= {f"{run} - charts/episodic_return{end}": text for end in ("", "__MIN", "__MAX")}
    return pd.DataFrame(columns)


def to_semicolons(frame: pd.DataFrame, path: Path) -> None:
    commas = frame.assign(**{"return": frame["return"].str.replace(".", ",")})
    commas.to_csv(path, index=False, sep=";", encoding="utf-8-sig")


SAVE: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".json": lambda frame, path: path.write_text(json.dumps(frame.to_dict("records"))),
    ".jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    ".parquet": lambda frame, path: frame.to_parquet(path, index=False),
    ".feather": lambda frame, path: frame.reset_index(drop=True).to_feather(path),
}


@dataclass(frozen=True)
class Form:
    """A file with a table in it.

    Attributes:
        table: what it holds, as text.
        suffix: of its name.
        roles: columns of method, task, seed, step and score; none of a chart.
        save: writes a table, where files of this suffix are written otherwise.
    """

    table: Callable[[], pd.DataFrame]
    suffix: str
    roles: Mapping[str, str] = field(default_factory=dict)
    save: Callable[[pd.DataFrame, Path], Any] | None = None

    @property
    def curves(self) -> bool:
        return "step" in self.roles or not self.roles

    def write(self, frame: pd.DataFrame, path: Path) -> Path:
        path = path.with_suffix(self.suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        (self.save or SAVE[self.suffix])(frame, path)
        return path


RUN = {"method": "algo", "task": "env_id", "seed": "seed", "score": "return"}
CURVE = {**RUN, "step": "global_step"}
WANDB = {**RUN, "method": "exp_name", "score": "charts/episodic_return"}
MLFLOW = {of: f"{'metrics' if of == 'score' else 'params'}.{name}" for of, name in RUN.items()}
FORMS = {
    "csv of runs": Form(runs, ".csv", RUN), "csv of curves": Form(long, ".csv", CURVE),
    "csv with semicolons": Form(long, ".csv", CURVE, to_semicolons),
    "json records": Form(runs, ".json", RUN), "jsonl": Form(long, ".jsonl", CURVE),
    "parquet": Form(long, ".parquet", CURVE), "feather": Form(runs, ".feather", RUN),
    "W&B table": Form(wandb_table, ".csv", WANDB), "MLflow": Form(mlflow, ".csv", MLFLOW),
    "W&B chart": Form(wandb_chart, ".csv"),
}  # fmt: skip


def monitor_rows(method: str, task: str, seed: int) -> list[str]:
    """Lines of a monitor.csv: return, length, seconds since the process began."""
    own = np.random.default_rng([seed, METHODS.index(method), TASKS.index(task)])
    level = np.linspace(0, 8.0 if method == "dqn" else 3.0, EPISODES)
    values = np.round(level + own.normal(0, 0.4, EPISODES), 3)
    return [f"{x},{LENGTH},{0.5 * k + 0.25}" for k, x in enumerate(values)]


def write_monitor(path: Path, rows: list[str], env: str, t_start: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps({"t_start": t_start, "env_id": env})
    path.write_text("\n".join([f"#{head}", "r,l,t", *rows]) + "\n")


def folder_names(method: str, task: str, seed: int) -> str:
    return f"{method}/{task.replace('/', '-')}_{seed}"


def monitors(root: Path, atari: bool = False) -> list[Path]:
    """rl-zoo's folders, a monitor in each."""
    for method, task, seed in CURVES:
        env = {"Acrobot-v1": "ALE/Pong-v5"}.get(task, task) if atari else task
        at = root / "logs" / folder_names(method, env, seed)
        write_monitor(at / "0.monitor.csv", monitor_rows(method, task, seed), env, 1.7e9 + seed)
    return [root / "logs" / method for method in METHODS]


def evaluations(root: Path) -> list[Path]:
    """rl-zoo's folders with evaluations alone."""
    for (method, task, seed), curve in CURVES.items():
        at = root / "logs" / folder_names(method, task, seed)
        at.mkdir(parents=True)
        results = np.stack([curve - 0.25, curve + 0.25], axis=1)
        np.savez(at / "evaluations.npz", timesteps=np.array(STEPS), results=results)
    return [root / "logs" / method for method in METHODS]


def rliable(root: Path, methods: tuple[str, ...] = METHODS) -> list[Path]:
    """A file a method, as the published scores of Atari 100k are: games, each with its runs."""
    root.mkdir(parents=True, exist_ok=True)
    for method in methods:
        games = {t: [float(CURVES[method, t, s][-1]) for s in SEEDS] for t in TASKS}
        (root / f"{method}.json").write_text(json.dumps(games))
    return [root / f"{method}.json" for method in methods]


def crlf(root: Path) -> None:
    """Every text below a folder with CRLF and a byte-order mark."""
    for path in sorted(root.rglob("*")):
        if path.suffix in (".csv", ".json", ".jsonl"):
            text = path.read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\n", b"\r\n")
            path.write_bytes(b"\xef\xbb\xbf" + text)


def changed_rows(name: str, form: Form, table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Tables that a relation makes of one."""
    generator = np.random.default_rng(3)
    if name == "permute rows":
        yield table.iloc[generator.permutation(len(table))]
    elif name == "permute columns":
        yield table[list(generator.permutation(table.columns))]
        yield table[list(table.columns)[::-1]]
    elif name == "add a column":
        numbers = [str(x) for x in np.round(generator.normal(50, 9, len(table)), 2)]
        extra: dict[str, Any] = {"notes": "x", "status": "ok"}
        extra["run"] = [str(k) for k in range(len(table))]
        extra["model"] = [f"resnet{k % 3}" for k in range(len(table))]
        extra |= dict.fromkeys(("human", "reward", "score", "loss", "seed2"), numbers)
        if form.curves:  # in a row a run it is the last one
            extra["timesteps"] = numbers
        for column, front in product([c for c in extra if c not in table], (True, False)):
            changed = table.copy()
            changed.insert(0 if front else len(table.columns), column, extra[column])
            yield changed
    elif name == "add W&B's columns":
        counter = [str(10 * k) for k in range(len(table))]
        if score := form.roles.get("score"):
            more = {f"{score}__MIN": table[score], f"{score}__MAX": table[score]}
            yield table.assign(_step=counter, **more)
            yield pd.DataFrame({"_step": counter, **more}, table.index).join(table)
            return
        runs_of = [c.split(" - ")[0] for c in table if " - " in c]
        names = [f"{run} - _step{e}" for run in runs_of for e in ("", "__MIN", "__MAX")]
        steps = pd.DataFrame(dict.fromkeys(names, counter))
        yield pd.concat([table, steps], axis=1)
        yield pd.concat([table[["global_step"]], steps, table.iloc[:, 1:]], axis=1)
    elif name == "cut a tail":
        for first in (6, 19):
            yield _without(form, table, slice(first, None))
    elif name == "drop a middle":
        yield _without(form, table, slice(5, 12))


def _without(form: Form, table: pd.DataFrame, gone: slice) -> pd.DataFrame:
    """One run without some of its steps; the whole run, where a row is one."""
    if not form.roles:
        column, changed = next(c for c in table if "dqn__1" in c), table.copy()
        changed.loc[table["global_step"].astype(int).isin(STEPS[gone]), column] = ""
        return changed
    method, task, seed = (form.roles[of] for of in ("method", "task", "seed"))
    own = (table[method] == "dqn") & (table[task] == TASKS[0]) & (table[seed] == "1")
    if form.curves:
        own &= table[form.roles["step"]].astype(int).isin(STEPS[gone])
    return table[~own]
