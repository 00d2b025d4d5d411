"""``uqbench score``: stored predictions by every score; nothing is run."""

from itertools import groupby
from operator import itemgetter
from typing import Annotated

from uqbench.cli.options import FileThere, takes
from uqbench.cli.terminal import print_json, records, say
from uqbench_compare.predictions import BINS


@takes()
def command(
    file: FileThere,
    *,
    beside: Annotated[str | None, "SUITE"] = None,
    bins: int = BINS,
    as_json: bool = False,
) -> int:
    """Score predictions that you have.

    An .npz has targets and what was predicted of them: probs, logits, mean with std or var,
    samples, members (with noise), quantiles with levels, an interval or a detector's score. 95 %
    intervals are over points. The column calibrated is what a method would have whose predictions
    are these and right, climatology what the best constant has.

    \b
    Examples:
      uqbench score predictions.npz
      uqbench score predictions.npz --beside regression
      uqbench score predictions.npz --bins 10

    Args:
        beside: Show the stored rows, too, of the task of this suite whose test set it is.
        bins: Bins of calibration errors: as many points in each, and of equal width.
        as_json: Print JSON.
    """
    from uqbench_compare.predictions.score import YOURS, score

    rows = score(file, beside=beside, bins=bins)
    if as_json:
        print_json({"scores": records(rows.reset_index()), **rows.attrs})
        return 0
    if beside is None:
        shown = rows.drop(columns="summary").rename(columns={"low": "95 % from", "high": "to"})
    else:
        shown = rows["value"].unstack(0)[[*dict.fromkeys(rows.index.get_level_values(0))]]
        by = "nll" if "nll" in shown else shown.columns[0]
        shown = shown.sort_values(by, ascending=rows["better"][by].iloc[0] == "min")
        shown = shown.rename(index={YOURS: f"> {YOURS}"})
    say(*shown.to_string(float_format="{:.4g}".format, na_rep="").splitlines())
    of_sets = "needs the set "
    reasons = [pair for pair in rows.attrs["absent"].items() if not pair[1].startswith(of_sets)]
    for why, own in groupby(sorted(reasons, key=itemgetter(1)), key=itemgetter(1)):
        say(f"absent: {', '.join(name for name, _ in own)}: {why}")
    if more := len(rows.attrs["absent"]) - len(reasons):
        say(f"absent: {more} scores of other sets than test")
    say(*rows.attrs["notes"])
    return 0
