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
from typing import NamedTuple

from actors import measure
from measure import Contestant, arguments, positive, report, seconds, take_turns
from work import ACTIONS, CHANNELS, HIDDEN, KERNEL, QUANTILES

from uqbench.runner.executors.local import ENVIRONMENT


class Work(NamedTuple):
    """What a method multiplies: networks, heads that share a convolution, outputs per action."""

    networks: int = 1
    heads: int = 1
    outputs: int = 1


METHODS = {
    "dqn": Work(),
    "qr-dqn": Work(outputs=QUANTILES),
    "ua-dqn": Work(networks=3, outputs=QUANTILES),
    "bootstrapped-dqn-masks": Work(heads=10),
}
IMAGE, DEPTH = 10, 4  # of Breakout
FLOP_PER_PAIR = 6  # of the quantile loss: difference, maximum, sum, and backward
PEAK, PEAK_AVX2 = "matrix products, GFLOP/s", "matrix products as uqbench sets MKL, GFLOP/s"
CACHE, MEMORY = "an update's working set, GB/s", "memory, GB/s"


def layers(outputs: int) -> tuple[int, int, int]:
    """Multiply-adds of one observation: convolution, a head's hidden layer, its last layer."""
    side = IMAGE - KERNEL + 1
    return (
        side**2 * KERNEL**2 * DEPTH * CHANNELS,
        side**2 * CHANNELS * HIDDEN,
        HIDDEN * ACTIONS * outputs,
    )


def parameters(work: Work) -> int:
    """Weights and biases of one network."""
    convolution, hidden, last = layers(work.outputs)
    shared = (IMAGE - KERNEL + 1) ** 2
    head = hidden + HIDDEN + last + ACTIONS * work.outputs
    return convolution // shared + CHANNELS + work.heads * head


def flop(work: Work, actors: int, batch: int) -> float:
    """Of one gradient step, as many target forwards, and acting in one head of each network."""
    convolution, hidden, last = layers(work.outputs)
    head = hidden + last
    forward = 2 * (convolution + work.heads * head)
    backward = forward + 2 * work.heads * head  # of weights; of inputs, but for the convolution
    pairs = 0 if work.outputs == 1 else work.networks * batch * work.outputs**2
    update = batch * (forward + work.networks * (forward + backward))
    return work.networks * actors * 2 * (convolution + head) + update + FLOP_PER_PAIR * pairs


def traffic(work: Work) -> float:
    """Bytes of one step's weights: Adam reads four numbers a weight and writes three.

    In addition the passes read the weights (target, forward, backward) and write a gradient.
    """
    return 4 * parameters(work) * (work.networks * (7 + 2 + 1) + 1)


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


def table(rates: dict[str, list[float]], actors: int, batch: int) -> str:
    """Floors and what a step takes, in Markdown."""
    head = "| a step of | MFLOP | MB | floor of products, ms | floor of bytes, ms "
    lines = [f"{head}| measured, ms | × the higher floor |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for method, work in METHODS.items():
        needed, moved = flop(work, actors, batch), traffic(work)
        compute, memory = needed / max(rates[PEAK]) / 1e6, moved / max(rates[CACHE]) / 1e6
        took = 1e3 / median(rates[method])
        cells = [f"{needed / 1e6:.1f}", f"{moved / 1e6:.1f}"]
        cells += [f"{value:.3f}" for value in (compute, memory, took)]
        lines.append(f"| {' | '.join([method, *cells])} | {took / max(compute, memory):.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--steps", type=positive, default=150, help="gradient steps timed")
    parser.add_argument("--actors", type=positive, default=64)
    parser.add_argument("--batch", type=positive, default=128)
    parser.add_argument("--numerics", choices=("eager", "compiled"), default="eager")
    options = parser.parse_args()
    held = 5 * parameters(METHODS["qr-dqn"])  # weights, target, gradient, two moments
    contestants = {
        PEAK: Contestant(products),
        PEAK_AVX2: Contestant(products, ENVIRONMENT),
        CACHE: Contestant(partial(bandwidth, floats=held)),
        MEMORY: Contestant(partial(bandwidth, floats=150_000_000)),
    }
    for method in METHODS:
        timed = partial(measure, method=method, actors=options.actors, batch_size=options.batch)
        contestants[method] = Contestant(timed, ENVIRONMENT)
    rates = take_turns(options, contestants)
    print(f"{table(rates, options.actors, options.batch)}\n")
    report(options, rates, [])


if __name__ == "__main__":
    main()
