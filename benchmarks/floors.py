"""How far training is from what one core can do at all.

Two floors of an update: its multiplications at the speed of big matrix products, and the bytes
that its weights and Adam must move at the speed of memory. What an update needs is counted from
its settings; what the core does, and how long uqbench takes, is measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median

from measure import Contestant, arguments, positive, report, seconds, take_turns
from work import ACTIONS, BATCH, CHANNELS, HIDDEN, KERNEL, QUANTILES

from uqbench.runner.executors.local import ENVIRONMENT

METHODS = ("dqn", "qr-dqn", "ua-dqn")
IMAGE, DEPTH = 10, 4  # of Breakout
FLOP_PER_PAIR = 6  # of the quantile loss: difference, maximum, sum, and backward
PEAK, PEAK_AVX2 = "matrix products, GFLOP/s", "matrix products as uqbench sets MKL, GFLOP/s"
CACHE, MEMORY = "an update's working set, GB/s", "memory, GB/s"


def layers(outputs: int) -> tuple[int, int, int]:
    """Multiply-adds of one observation: convolution, hidden layer, last layer."""
    side = IMAGE - KERNEL + 1
    return (
        side**2 * KERNEL**2 * DEPTH * CHANNELS,
        side**2 * CHANNELS * HIDDEN,
        HIDDEN * ACTIONS * outputs,
    )


def parameters(outputs: int) -> int:
    """Weights and biases of one network."""
    convolution, hidden, last = layers(outputs)
    shared = (IMAGE - KERNEL + 1) ** 2
    return convolution // shared + CHANNELS + hidden + HIDDEN + last + ACTIONS * outputs


def flop(method: str) -> float:
    """Of one step: acting, the target's forward, each network's forward and backward, the loss."""
    outputs = 1 if method == "dqn" else QUANTILES
    networks = 3 if method == "ua-dqn" else 1
    convolution, hidden, last = layers(outputs)
    forward = 2 * (convolution + hidden + last)
    backward = forward + 2 * (hidden + last)  # weights; inputs, which the convolution's has not
    pairs = 0 if method == "dqn" else networks * BATCH * QUANTILES**2
    update = BATCH * (forward + networks * (forward + backward))
    return networks * forward + update + FLOP_PER_PAIR * pairs


def traffic(method: str) -> float:
    """Bytes of one step's weights: Adam reads four numbers a weight and writes three.

    In addition the passes read the weights (target, forward, backward) and write a gradient.
    """
    outputs = 1 if method == "dqn" else QUANTILES
    networks = 3 if method == "ua-dqn" else 1
    return 4 * parameters(outputs) * (networks * (7 + 2 + 1) + 1)


def products(_options: argparse.Namespace, _turn: int) -> float:
    """GFLOP/s of big matrix products in float32."""
    import torch

    torch.set_num_threads(1)
    size = 2048
    a, b, out = torch.rand(3, size, size).unbind()
    return 2 * size**3 / 1e9 / fastest(lambda: torch.mm(a, b, out=out))


def bandwidth(_options: argparse.Namespace, _turn: int, *, floats: int) -> float:
    """GB/s of ``c = a + b`` over arrays of so many floats in all."""
    import torch

    torch.set_num_threads(1)
    a, b, c = torch.rand(3, floats // 3).unbind()
    return c.nbytes * 3 / 1e9 / fastest(lambda: torch.add(a, b, out=c))


def fastest(work: Callable[[], object], budget: float = 1.0) -> float:
    """Seconds of the fastest of many runs: a floor is what the core does undisturbed."""
    best, began = float("inf"), seconds()
    while seconds() - began < budget:
        start = seconds()
        work()
        best = min(best, seconds() - start)
    return best


def ours(options: argparse.Namespace, turn: int, *, method: str) -> float:
    from ours import measure_ours

    return measure_ours(method, options.lanes, options.steps, turn, options.numerics)


def table(rates: dict[str, list[float]]) -> str:
    """Floors and what an update takes, in Markdown."""
    head = "| a step of | MFLOP | MB | floor of products, ms | floor of bytes, ms "
    lines = [f"{head}| measured, ms | × the higher floor |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for method in METHODS:
        compute = flop(method) / max(rates[PEAK]) / 1e6
        memory = traffic(method) / max(rates[CACHE]) / 1e6
        took = 1e3 / median(rates[method])
        cells = [f"{flop(method) / 1e6:.1f}", f"{traffic(method) / 1e6:.1f}"]
        cells += [f"{value:.3f}" for value in (compute, memory, took)]
        lines.append(f"| {' | '.join([method, *cells])} | {took / max(compute, memory):.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--steps", type=positive, default=2_000, help="timed steps of each lane")
    parser.add_argument("--lanes", type=positive, default=5)
    parser.add_argument("--numerics", default="eager")
    options = parser.parse_args()
    held = 5 * parameters(QUANTILES) * options.lanes  # weights, target, gradient, two moments
    contestants = {
        PEAK: Contestant(products),
        PEAK_AVX2: Contestant(products, ENVIRONMENT),
        CACHE: Contestant(partial(bandwidth, floats=held)),
        MEMORY: Contestant(partial(bandwidth, floats=150_000_000)),
    } | {method: Contestant(partial(ours, method=method), ENVIRONMENT) for method in METHODS}
    rates = take_turns(options, contestants)
    print(f"{table(rates)}\n")
    report(options, rates, [])


if __name__ == "__main__":
    main()
