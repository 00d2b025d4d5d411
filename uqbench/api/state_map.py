"""An agent's uncertainty about every state of a small environment, as maps."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from uqbench.api.playing import Beliefs
from uqbench.figure import Figure, NotDrawableError
from uqbench.pictures import StateMap
from uqbench.plots import theme

SIDE = 60
"""Pixels of a state."""


def figure(states: StateMap, beliefs: Beliefs, title: str) -> Figure:
    """Epistemic and aleatoric uncertainty of each state's greedy action, a map each.

    Args:
        states: of the environment.
        beliefs: the agent's, ``[states, A]`` each; see :func:`uqbench.api.playing.map_beliefs`.
        title: of the figure.

    Raises:
        NotDrawableError: the agent predicts neither.
    """
    kinds = [kind for kind in ("epistemic", "aleatoric") if kind in beliefs]
    if not kinds:
        raise NotDrawableError(f"{title}: the agent predicts no uncertainty.")
    greedy = beliefs.get("mean", beliefs[kinds[0]]).argmax(-1)
    place = dict(zip(("row", "column"), states.places.T, strict=True))
    place["action"] = [states.actions[action] for action in greedy]
    sds = {kind: beliefs[kind][np.arange(len(greedy)), greedy] for kind in kinds}
    data = pd.concat(pd.DataFrame({"kind": kind, **place, "sd": sds[kind]}) for kind in kinds)
    base = alt.Chart(width=alt.Step(SIDE), height=alt.Step(SIDE)).encode(
        alt.X("column:O", axis=None), alt.Y("row:O", axis=None)
    )
    shades = alt.Scale(domainMin=0, range=[theme.WHITE, theme.SKY], interpolate="rgb")
    cells = base.mark_rect(stroke=theme.GRID).encode(alt.Color("sd:Q", scale=shades, legend=None))
    numbers = base.mark_text(dy=-8).encode(alt.Text("sd:Q", format=".2g"))
    actions = base.mark_text(dy=8).encode(alt.Text("action:N"))
    maps = alt.layer(cells, numbers, actions, data=data).facet(
        facet=alt.Facet("kind:N", title=None, sort=kinds), columns=1
    )
    means = ", ".join(f"{kind} {own.mean():.3g} on average" for kind, own in sds.items())
    text = f"Standard deviation of each state's greedy action, and that action: {means}."
    chart = maps.resolve_scale(color="independent")
    return Figure("state-map", title, text, data.reset_index(drop=True), chart)
