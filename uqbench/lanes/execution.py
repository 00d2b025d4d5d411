"""Execution of layers: the library that their products are of, and how first weights are made.

The runner says it and layers read it, whichever package they are of.
"""

import os
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import torch
from torch import nn

AVAILABLE = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
"""Whether this torch has oneDNN's products."""

MKL_FASTER = ("AVX512_E1", "AVX512", "AVX2")
"""Branches of ``MKL_CBWR`` in which MKL's products are the faster ones.

Forward, to weights and to inputs of 128 × 1,024 × 128, milliseconds of oneDNN and of MKL: with
AVX512_E1 .30 .61 .50 and .23 .35 .28 (Sapphire Rapids), with both at AVX2 .65 .71 .55 and .49 .47
.46. A worker pins the branch by its processor's flags, so that two starts on a machine agree, which
a measurement at each start would not.
"""

NUMERICS: ContextVar[str] = ContextVar("numerics", default="eager")
"""A budget's numerics, while its agents are made."""


def library() -> str:
    """The library that products with many actors are of: ``oneDNN`` or ``MKL``."""
    return "oneDNN" if AVAILABLE and os.environ.get("MKL_CBWR") not in MKL_FASTER else "MKL"


def use_onednn(networks: Iterable[object]) -> None:
    """Let layers with an attribute ``onednn`` use oneDNN's products, where they are faster.

    Args:
        networks: those that are modules have layers.
    """
    layer: Any
    for network in networks:
        for layer in network.modules() if isinstance(network, nn.Module) else ():
            if hasattr(layer, "onednn"):
                layer.onednn = library() == "oneDNN"
