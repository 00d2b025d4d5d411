"""Loading the plugins; those that fail are named and left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uqbench.contract.errors import Say, warn

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host


def load_host(say: Say = warn) -> Host:
    """Load the plugins.

    Args:
        say: called with those that failed, and what is wrong with others.
    """
    from uqbench.registry.plugins import Host

    host = Host.load()
    for plugin in host.failures:
        say(
            f"uqbench: left out the plugin {plugin.name!r} of {plugin.distribution} "
            f"{plugin.version}: {plugin.failure}"
        )
    for complaint in dict.fromkeys(c for p in host.plugins for c in host.complaints(p)):
        say(f"uqbench: {complaint}")
    return host
