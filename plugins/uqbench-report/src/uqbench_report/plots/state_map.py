"""An agent's uncertainty about every state of a small environment beside the truth, as maps."""

import altair as alt
import numpy as np
import pandas as pd

from uqbench.contract.figure import Figure, NotDrawableError
from uqbench.contract.pictures import Beliefs, StateMap
from uqbench_report.plots import theme
from uqbench_report.plots.words import number

SIDE = 60
"""Pixels of a state."""
TRUE = {"epistemic": "error of the mean", "aleatoric": "true"}
"""What a stated standard deviation is held against: a single error, or the exact one."""


def figure(states: StateMap, beliefs: Beliefs, title: str, truth: Beliefs | None = None) -> Figure:
    """Epistemic and aleatoric uncertainty of each state's greedy action: stated, true, their ratio.

    Args:
        states: of the environment.
        beliefs: the agent's, ``[states, A]`` each; ``uqbench_report.state_map.map_beliefs``.
        title: of the figure.
        truth: of the same shapes; ``uqbench_report.state_map.map_truth``.

    Raises:
        NotDrawableError: the agent predicts neither.
    """
    kinds = [kind for kind in TRUE if kind in beliefs]
    if not kinds:
        raise NotDrawableError(f"{title}: the agent predicts no uncertainty.")
    greedy = beliefs.get("mean", beliefs[kinds[0]]).argmax(-1)
    place = dict(zip(("row", "column"), states.places.T, strict=True))
    place["action"] = [states.actions[action] for action in greedy]
    of_greedy = np.arange(len(greedy)), greedy
    maps, means = [], []
    for kind in kinds:
        stated, what = beliefs[kind][of_greedy], TRUE[kind]
        values = {"predicted": stated}
        if truth and kind in truth:
            values[what] = true = truth[kind][of_greedy]
            values[f"predicted over {what}"] = stated / np.where(true > 0, true, np.nan)
        most = max(*(own.max() for own in list(values.values())[:2]), 1e-12)
        for name, own in values.items():
            shade = np.log10(np.maximum(own, 0.1)) if "over" in name else own / most
            drawn = {"map": f"{kind}, {name}", **place, "value": own, "shade": shade}
            maps.append(pd.DataFrame(drawn))
            if "over" not in name:
                means.append(f"{kind}, {name}: {own.mean():.3g} on average")
    data = pd.concat(maps, ignore_index=True)
    shown = data.assign(text=data["value"].map(number), shade=data["shade"].fillna(0.0))
    x, y = alt.X("column:O", axis=None), alt.Y("row:O", axis=None)
    base = alt.Chart(width=alt.Step(SIDE), height=alt.Step(SIDE)).encode(x, y)
    colors = [theme.ORANGE, theme.WHITE, theme.SKY]
    shades = alt.Scale(domain=[-1, 0, 1], range=colors, clamp=True, interpolate="rgb")
    shaded = alt.Color("shade:Q", scale=shades, legend=None)
    cells = base.mark_rect(stroke=theme.GRID).encode(shaded)
    numbers = base.mark_text(dy=-8, color=theme.ON_LIGHT).encode(alt.Text("text:N"))
    actions = base.mark_text(dy=8, color=theme.ON_LIGHT).encode(alt.Text("action:N"))
    order = list(dict.fromkeys(data["map"]))
    chart = alt.layer(cells, numbers, actions, data=shown).facet(
        facet=alt.Facet("map:N", title=None, sort=order), columns=len(order) // len(kinds)
    )
    text = (
        f"Standard deviation of each state's greedy action, and that action: {'; '.join(means)}. "
        f"For a ratio, orange: too small; blue: too large."
    )
    return Figure("state-map", title, text, data, chart)
