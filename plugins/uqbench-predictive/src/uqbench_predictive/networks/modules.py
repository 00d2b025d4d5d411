"""Any ``torch.nn.Module`` as the architecture of a stack, through ``torch.func.functional_call``.

A search or a chain moves the weights of many networks at once, and a module has one set. Here it is
only the function: each network of a stack is a call of it with that network's weights. They are
called one by one, so that a network's numbers do not depend on the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pkgutil import resolve_name

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.hooks import RemovableHandle

from uqbench_predictive.networks.architectures import HEAD, Drop, Network, Weights

Make = Callable[[], nn.Module]


class ModuleNetwork(Network):
    """The architecture that a function makes; called in evaluation mode, with the module's buffers.

    The last :class:`torch.nn.Linear` is the last layer, and the module's output must be its output.
    Dropout acts where the module has :class:`torch.nn.Dropout`.

    Args:
        make: makes the module with new initial weights.

    Raises:
        TypeError: what it makes is no module, or has no linear layer with a bias.
    """

    def __init__(self, make: Make) -> None:
        self._make = make
        self._module = _made(make, seed=0).requires_grad_(False)
        layers = [(n, m) for n, m in self._module.named_modules() if isinstance(m, nn.Linear)]
        if not layers or layers[-1][1].bias is None:
            raise TypeError(
                f"expected a module whose last torch.nn.Linear has a bias, got {self._module}"
            )
        name, self._head = layers[-1]
        prefix = f"{name}." if name else ""
        self._head_names = (f"{prefix}weight", f"{prefix}bias")

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the parameters by the module's names; the last layer's under those of HEAD."""
        own = {
            name: tuple(tensor.shape)
            for name, tensor in self._module.named_parameters()
            if name not in self._head_names
        }
        outputs, width = self._head.weight.shape
        return own | {HEAD[0]: (width, outputs), HEAD[1]: (1, outputs)}

    def features(self, weights: Weights, inputs: Tensor, drop: Drop | None = None) -> Tensor:
        """Inputs of the last layer, ``[S, B, H]``."""
        return self._called(weights, inputs, drop)[0]

    def __call__(self, weights: Weights, inputs: Tensor, drop: Drop | None = None) -> Tensor:
        """Outputs ``[S, B, C]`` for inputs ``[S, B, *x]``."""
        return self._called(weights, inputs, drop)[1]

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """The initial weights that the module gives itself, a function of the generator."""
        seed = int(torch.randint(2**62, (), generator=generator))
        return self.weights_of(_made(self._make, seed))

    def weights_of(self, module: nn.Module) -> dict[str, Tensor]:
        """A module's weights, copied, as those of one network."""
        own = {name: tensor.detach().clone() for name, tensor in module.named_parameters()}
        weight, bias = (own.pop(name) for name in self._head_names)
        return own | {HEAD[0]: weight.mT.contiguous(), HEAD[1]: bias[None]}

    def _called(self, weights: Weights, inputs: Tensor, drop: Drop | None) -> tuple[Tensor, Tensor]:
        """Features and outputs of every network."""
        features: list[Tensor] = []
        outputs = []
        with ExitStack() as hooks:
            hook = self._head.register_forward_pre_hook(lambda _, args: features.append(args[0]))
            hooks.callback(hook.remove)
            for index, rows in enumerate(inputs):
                own = {name: tensor[index] for name, tensor in weights.items()}
                weight, bias = (own.pop(name) for name in HEAD)
                own |= dict(zip(self._head_names, (weight.mT.contiguous(), bias[0]), strict=True))
                with ExitStack() as of_this:
                    for hook in [] if drop is None else self._dropping(drop.of(index)):
                        of_this.callback(hook.remove)
                    outputs.append(functional_call(self._module, own, (rows,)))
        return torch.stack(features), torch.stack(outputs)

    def _dropping(self, drop: Callable[[Tensor], Tensor]) -> Iterator[RemovableHandle]:
        """Hooks that drop units where the module has dropout, which is the identity here."""
        for module in self._module.modules():
            if isinstance(module, nn.Dropout):
                yield module.register_forward_hook(lambda _, __, output: drop(output))


def module_named(name: str, inputs: Sequence[int], outputs: int) -> ModuleNetwork:
    """The architecture ``package.module:function``, called with the shapes of inputs and outputs.

    Raises:
        ValueError: there is no such function.
    """
    try:
        make = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"architecture: expected 'mlp', 'lenet' or 'package.module:function', got {name!r}: "
            f"{error}"
        ) from None
    return ModuleNetwork(lambda: make(tuple(inputs), outputs))


def _made(make: Make, seed: int) -> nn.Module:
    """A new module, its weights a function of the seed; torch's own random state stays."""
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        module = make()
    if not isinstance(module, nn.Module):
        raise TypeError(f"expected a torch.nn.Module, got a {type(module).__name__}")
    return module.eval()
