"""Settings of the data sets and estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class NoisyCosineConfig:
    """Clements et al. 2019, Figure 1; the numbers are the released code's.

    Attributes:
        points: n, half of them in each of two clusters.
        noise: standard deviation of the targets' normal noise, the same everywhere.
    """

    points: int = 200
    noise: float = 1 / 3

    def __post_init__(self) -> None:
        if self.points < 2 or self.points % 2:
            raise ValueError(f"points must be even and positive, got {self.points}")
        if self.noise <= 0:
            raise ValueError(f"noise is a standard deviation, got {self.noise}")


@dataclass(frozen=True, kw_only=True)
class Prior:
    """A normal prior over the weights of fully connected networks, centered on zero.

    Attributes:
        weight_std: σ_w; a layer's weights have standard deviation σ_w / √(its inputs).
        bias_std: σ_b, of the biases.
    """

    weight_std: float = 2.0
    bias_std: float = 1.0

    def __post_init__(self) -> None:
        for name in ("weight_std", "bias_std"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is a standard deviation, got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True)
class PriorFunctionConfig(Prior):
    """A function drawn from the prior of infinitely wide networks, seen at a few noisy points.

    Attributes:
        points: n, half of them in each of two clusters.
        noise: σ_data, standard deviation of the targets' noise.
    """

    points: int = 20
    noise: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.points < 2 or self.points % 2:
            raise ValueError(f"points must be even and positive, got {self.points}")
        if self.noise <= 0:
            raise ValueError(f"noise is a standard deviation, got {self.noise}")


@dataclass(frozen=True, kw_only=True)
class AnchoredQuantilesConfig:
    """Quantile networks that are approximate samples of the posterior; see Figure 1.

    Attributes:
        samples: S, networks.
        quantiles: N.
        aleatoric: ``unbiased``, from pairs of samples, or ``biased``, the variance of one network's
            quantiles.
        hidden: widths of the hidden layers.
        gain: of the orthogonal initial weights.
        learning_rate: Adam's α.
        batch_size: points of a gradient step, drawn with replacement for each network.
        anchor: of the penalty ``anchor · ‖θ − θ⁰‖²``, added to the mean of the quantile losses.
    """

    samples: int = 2
    quantiles: int = 50
    aleatoric: Literal["unbiased", "biased"] = "unbiased"
    hidden: tuple[int, ...] = (200, 200)
    gain: float = 7.0
    learning_rate: float = 2e-4
    batch_size: int = 64
    anchor: float = 1e-4

    def __post_init__(self) -> None:
        if self.samples < 2 or self.quantiles < 2:
            raise ValueError(
                f"expected at least 2 samples of at least 2 quantiles, got {self.samples} and "
                f"{self.quantiles}"
            )
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")


@dataclass(frozen=True, kw_only=True)
class AnchoredOutputsConfig(Prior):
    """Many anchored predictions of one mean, by one network or by many; see Appendix C.

    Attributes:
        networks: E; ``networks · outputs`` predictions in all.
        outputs: N, predictions of each network.
        hidden: widths of the hidden layers.
        noise: σ_data, which the method knows.
        learning_rate: Adam's α at the start; it falls to zero along a half cosine.
    """

    networks: int = 1
    outputs: int = 50
    hidden: tuple[int, ...] = (100, 100)
    noise: float = 0.1
    learning_rate: float = 5e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.networks < 1 or self.outputs < 1 or self.networks * self.outputs < 2:
            raise ValueError(
                f"a variance needs at least 2 predictions, got {self.networks} networks of "
                f"{self.outputs} outputs"
            )
        if self.noise <= 0:
            raise ValueError(f"noise is a standard deviation, got {self.noise}")
