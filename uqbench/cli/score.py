"""``uqbench score``: stored predictions by every registered score; nothing is run."""

from uqbench.cli.options import FileThere, takes
from uqbench.cli.terminal import print_json, records, say


@takes()
def command(file: FileThere, *, as_json: bool = False) -> int:
    """Score predictions that you have.

    An .npz with targets and probs, mean and var, or members. 95 % intervals are over points. The
    column calibrated is what a method would have whose predictions are these and right: of n
    points, its calibration error is not 0, either.

    \b
    Example:
      uqbench score predictions.npz

    Args:
        as_json: Print JSON.
    """
    from uqbench.api.score import score

    rows = score(file)
    if as_json:
        print_json(records(rows.reset_index()))
        return 0
    shown = rows.drop(columns="summary").rename(columns={"low": "95 % from", "high": "to"})
    say(*shown.to_string(float_format="{:.4g}".format, na_rep="").splitlines())
    return 0
