"""CPU kernels: compiled loops over the lanes' arrays."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from numba import typeof
from numba.core.dispatcher import Dispatcher

from uqbench.contract.errors import UqbenchError
from uqbench_lanes.kernels import compiled


def compiled_once(
    package: str, variant: str = "", *, allocates: bool = False, uses: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function that calls others in ``package``, and cache it on disk.

    Numba looks it up by name and checks only the function's own file for changes. A digest of all
    sources in the name keeps the cache from going stale.

    Args:
        package: whose sources are part of the name.
        variant: part of the name, too, of functions that differ in what they close over.
        allocates: whether the function makes arrays; what it calls never does.
        uses: other packages that it calls functions of.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__name__ += variant
        function.__qualname__ += variant + _digest(package, *uses)
        return compiled(function, cache=True, forceinline=not allocates, allocates=allocates)

    return decorate


def _digest(*packages: str) -> str:
    """Digest of the packages' sources and of ``uqbench_lanes.kernels``."""
    folders = *(Path(str(files(package))) for package in packages), Path(__file__).parent
    sources = [path.read_bytes() for folder in folders for path in sorted(folder.rglob("*.py"))]
    return hashlib.sha256(b"".join(sources)).hexdigest()[:16]


def compile_for(function: Any, arguments: tuple[Any, ...], wait: float = -1.0) -> None:
    """Compile a function for its arguments, or load it from the cache: one process at a time.

    When several processes start together, one compiles, and the others find it in the cache.

    Args:
        function: of numba.
        arguments: that it is compiled for.
        wait: most seconds for another process; negative for as many as it takes.
    """
    lock = f".{function.__module__}.{function.__name__}.lock"
    signature = tuple(map(typeof, arguments))
    if not isinstance(function, Dispatcher) or signature in function.overloads:
        return  # NUMBA_DISABLE_JIT=1, or done
    with suppress(OSError, Timeout):  # a folder that cannot be written has no cache to wait for
        folder = Path(function.stats.cache_path or "")
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / lock, wait):
            function.compile(signature)


class CpuKernels:
    """Loops over the lanes, in the memory of the tensors in ``lanes``.

    Args:
        begin: function of (parameters, arrays) that begins an episode in every lane.
        step: function of (parameters, arrays) that steps all lanes and returns −1; if an action is
            invalid, it steps none and returns that lane's index. Both take plain tuples, which
            Numba unpacks faster than named ones.
        parameters: numbers that all lanes share.
        lanes: a named tuple of tensors, ``action`` among them, ``[L]``.
        n_actions: valid actions are 0 to ``n_actions − 1``.
    """

    def __init__(
        self,
        begin: Callable[..., Any],
        step: Callable[..., Any],
        parameters: tuple[Any, ...],
        lanes: Any,
        n_actions: int,
    ) -> None:
        self._begin, self._step = begin, step
        self._parameters, self._action = tuple(parameters), lanes.action
        self._arrays = tuple(tensor.numpy() for tensor in lanes)
        self._n_actions = n_actions
        for wait in (0.0, -1.0):  # what another process compiles meanwhile is waited for at last
            for function in (begin, step):
                compile_for(function, (self._parameters, self._arrays), wait)

    def begin(self) -> None:
        """Begin an episode in every lane."""
        self._begin(self._parameters, self._arrays)

    def step(self) -> None:
        """Step all lanes.

        Raises:
            UqbenchError: an action is invalid; no lane was stepped.
        """
        invalid = self._step(self._parameters, self._arrays)
        if invalid >= 0:
            raise UqbenchError(
                f"the agent chose action {int(self._action[invalid])}; "
                f"expected a valid one of 0 to {self._n_actions - 1}"
            )
