"""``docs/conformance.md``, made by ``python tools/conformance_page.py > docs/conformance.md``."""

from __future__ import annotations

from itertools import groupby

from uqbench.testing.conformance.check import all_checks

HEAD = """# Conformance

What uqbench asks of a plugin, rule by rule. `uqbench plugin check NAME` tries the rules on all
that a plugin registers; failures name the rule, what was found, and what to do.

```sh
uqbench plugin check my-method                       # exit code 1 if a required rule is broken
uqbench plugin check my-method --only "agent and not compiles"    # an expression as pytest's -k
uqbench plugin check my-method --json                # for other tools
```

Levels: *required* for a row on a board; *checkpointable* runs resume where they were interrupted;
*compiled* agents run at full speed, on a GPU too; *calibrated* ones, `AgentSpec(calibrated=True)`,
have intervals for Q that cover what they say. A check whose prerequisite failed is blocked, so that
one mistake is one message. Zero checks are a failure. Data that is not on the machine, which a
`uqbench.errors.MissingDataError` says, and what no installed suite uses, are skipped and listed.

In a plugin's tests (`pip install "uqbench[testing]"`; `pytest --junit-xml` reports each check):

```python
from uqbench.registry.plugins import Host
from uqbench.testing.checks import parametrize_with_checks, run_check
from uqbench.testing.conformance.subjects import subjects


@parametrize_with_checks(subjects(Host.load(), "my-method"))
def test_it_conforms(subject, check):
    run_check(subject, check)
```

`AgentSubject` (`uqbench.testing.conformance.agent_runs`), instead of `subjects`, is an agent with a
config of your choice. In the test above each check is a test of its own: `pytest -k agent-lanes`
runs that one, after those that it builds on. What is known to fail is named by the hook
`uqbench_expected_failures` (or the argument `expected_failures` of `AgentSubject`), with a reason:
a strict `xfail`, which fails where the check passes.
"""


def page() -> str:
    """The page's text."""
    parts = [HEAD]
    for kind, checks in groupby(all_checks(), key=lambda check: check.kind):
        parts.append(f"\n## {kind[0].upper()}{kind[1:]}\n")
        parts += [
            f"\n### {check.id}\n\n{check.rule} *{check.level.capitalize()}.*\n\n"
            f"Tried: {check.tried}\n\nFix: {check.fix}\n"
            for check in checks
        ]
    return "".join(parts)


if __name__ == "__main__":
    print(page(), end="")
