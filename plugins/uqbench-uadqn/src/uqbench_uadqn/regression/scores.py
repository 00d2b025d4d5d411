"""What both data sets score, in the units of the targets."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from uqbench.contract.estimator import PredictiveUncertainty


def epistemic_scores(on: PredictiveUncertainty, off: PredictiveUncertainty) -> Mapping[str, Tensor]:
    """How much epistemic uncertainty is predicted on the data and off it, ``[L]`` each.

    ``epistemic_on`` and ``epistemic_off`` are standard deviations, the root of the mean variance;
    ``off_data_auroc`` is the probability that more is predicted for a point off the data than
    for one on it, ties counted half.
    """
    difference = (off.epistemic[:, :, None] - on.epistemic[:, None, :]).flatten(1)
    higher = (difference > 0).double() + 0.5 * (difference == 0).double()
    return {
        "epistemic_on": on.epistemic.mean(-1).sqrt(),
        "epistemic_off": off.epistemic.mean(-1).sqrt(),
        "off_data_auroc": higher.mean(-1),
    }
