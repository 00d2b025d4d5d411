"""``uqbench compare``: score files that somebody has, ranked; or two boards, held side by side."""

from pathlib import Path
from typing import Annotated, Literal

from uqbench.cli.options import Folder, assigned, names, takes
from uqbench.cli.terminal import print_json, records, say


@takes(names={"what": "FILE|FOLDER…", "columns": "--column", "name": "--suite-name"})
def command(
    what: tuple[Annotated[str, "FILE|FOLDER…"], ...],
    *,
    constants: Annotated[str | None, "SUITE"] = None,
    by: Literal["iqm", "mean", "median"] | None = None,
    better: Literal["higher", "lower"] | None = None,
    paired: bool = False,
    units: Literal["run", "seed"] = "run",
    columns: tuple[Annotated[str, "ROLE=NAME"], ...] = (),
    window: float = 0.1,
    horizon: float | None = None,
    explain: bool = False,
    pair: Annotated[str | None, "A,B"] = None,
    write: Folder | None = None,
    name: str = "scores",
    as_json: bool = False,
) -> int:
    """Rank methods by score files that you have.

    Nothing is run. Given two folders of boards, say where they differ.

    Files: rliable's JSON; CSV, JSON lines, Parquet with a row a run (method, task, seed, score) or
    a step; W&B's exports; folders with monitor.csv or evaluations.npz of Stable-Baselines3, as
    rl-zoo lays them out. It says how many of the values that it read it uses. Two folders of
    boards, as of two machines, are compared run by run; exit 1 where they differ.

    \b
    Examples:
      uqbench compare IRIS.json SPR.json 'DrQ(eps).json' --constants atari
      uqbench compare wandb_export.csv --column score=eval/return --write leaderboards
      uqbench compare losses.csv --column score=nll --better lower --explain
      uqbench compare logs/dqn logs/ppo
      uqbench compare leaderboards/minatar/quick elsewhere/minatar/quick
      uqbench compare leaderboards/minatar/night --pair ua-dqn,qr-dqn

    Args:
        constants: An installed suite with the scores of each task that are 0 and 1, e.g. atari.
        by: The statistic that ranks: the IQM, or the mean of few tasks or few different scores.
        better: Whether higher or lower scores are better; lower ones are shown negated.
        paired: Methods met the same data set or world with the same seed.
        units: What is one observation: each task's run, or a seed with all its tasks.
        columns: A column by its role (method, task, seed, score, step), or =NAME; may be repeated.
        window: For curves, the last part of a task's steps, whose mean is the score.
        horizon: The last step of every task; otherwise the largest that a run of it has.
        explain: Print the ledger first: of each file and run, what was read, used, or why not.
        pair: Say how much better method A is than B, of files or of a board.
        write: Write a board below this folder, marked imported, for plot, report and --beside.
        name: Suite of that board.
        as_json: Print JSON.
    """
    from uqbench_claims.against import against

    from uqbench.boards.manifest import MANIFEST
    from uqbench.boards.stored import StoredBoard
    from uqbench.contract.errors import UqbenchError
    from uqbench.pages.terminal import print_board
    from uqbench_compare.compare import compare
    from uqbench_compare.two_boards import differences

    paths = [Path(one) for one in what]
    boards = [path for path in paths if (path / MANIFEST).is_file()]
    if boards:
        if pair is not None and len(paths) == 1:
            say(against(StoredBoard.read(boards[0]), *names(pair)))
            return 0
        if len(boards) != 2 or len(paths) != 2:
            raise UqbenchError("expected two boards, one and --pair, or files and folders alone.")
        told = differences(*map(StoredBoard.read, boards))
        say(*(told or ["same, to the last digit"]))
        return int(bool(told))
    by_role = dict(assigned("--column", columns, "ROLE=NAME, e.g. score=auc."))
    found = compare(
        paths, constants=constants, by=by, better=better, paired=paired, units=units,
        columns=by_role, window=window, horizon=horizon, name=name,
    )  # fmt: skip
    results = {name: getattr(found, name) for name in ("ranks", "pairs", "intervals")}
    ledger = {"columns": found.ledger.columns, "runs": found.ledger.runs} if explain else {}
    if as_json:
        all_tables = {name: records(table) for name, table in (results | ledger).items()}
        print_json({**all_tables, "read": str(found.ledger)})
        return 0
    for table in ledger.values():
        say(*table.to_string(index=False, float_format="{:g}".format, na_rep="").splitlines(), "")
    print_board(found.board)
    asked = found.ranks["method"][:2] if pair is None else names(pair)
    if len(asked) == 2:
        say(found.sentence(*asked))
    say(*found.notes, str(found.ledger))
    if write is not None:
        say(str(found.write(write)))
    return 0
