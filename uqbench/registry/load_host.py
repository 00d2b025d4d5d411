"""Loading the plugins; those that fail are named and left out, unless the user named them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uqbench.contract.errors import Say, UqbenchError, warn

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host


def load_host(say: Say = warn) -> Host:
    """Load the plugins.

    Args:
        say: called with those that failed, and what is wrong with others.

    Raises:
        UqbenchError: a file that the user named is among those that failed; it is forgotten.
    """
    from uqbench.registry import local
    from uqbench.registry.plugins import Host

    host = Host.load()
    paths = {plugin.name: plugin.path for plugin in local.current()}
    if named := [p for p in host.failures if p.distribution.startswith(local.PREFIX)]:
        local.remove({plugin.name for plugin in named})
        raise UqbenchError("\n".join(f"{paths[p.name]} cannot be used: {p.failure}" for p in named))
    for plugin in host.failures:
        say(
            f"uqbench: left out the plugin {plugin.name!r} of {plugin.distribution} "
            f"{plugin.version}: {plugin.failure}"
        )
    for complaint in dict.fromkeys(c for p in host.plugins for c in host.complaints(p)):
        say(f"uqbench: {complaint}")
    return host
