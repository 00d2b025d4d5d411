"""``uqbench score``: stored predictions by every registered score; nothing is run."""

import json

from uqbench.cli.options import FileThere, takes
from uqbench.cli.terminal import print_json, say


@takes()
def command(file: FileThere, *, as_json: bool = False) -> int:
    """Score predictions that you have: an .npz with targets and probs, mean and var, or members.

    95 % intervals are over points. The column calibrated is what a method would have whose
    predictions are these and right: of n points, its calibration error is not 0, either.

    \b
    Example:
      uqbench score predictions.npz

    Args:
        as_json: Print JSON.
    """
    from uqbench.api.score import score
    from uqbench.pages.console import Shown, stdout, table

    rows = score(file)
    if as_json:
        print_json(json.loads(rows.reset_index().to_json(orient="records", double_precision=15)))
        return 0
    texts = {
        "score": list(rows.index),
        "value": [f"{x:.4g}" for x in rows["value"]],
        "95 %": [
            f"[{low:.3g}, {high:.3g}]" for low, high in zip(rows["low"], rows["high"], strict=True)
        ],
        "calibrated": ["" if x != x else f"{x:.4g}" for x in rows["calibrated"]],
        "better": [{"max": "more", "min": "less"}[x] for x in rows["better"]],
    }
    stdout().print(table([Shown(head, own, left=head == "score") for head, own in texts.items()]))
    say(f"{len(rows)} scores; intervals are over points.")
    return 0
