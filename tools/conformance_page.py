"""The site's page of the rules of conformance: ``python tools/conformance_page.py`` prints it."""

from __future__ import annotations

from itertools import groupby

from uqbench_testing.conformance.check import all_checks

HEAD = """# Conformance

What uqbench asks of a plugin, rule by rule. `uqbench plugin check NAME` tries the rules on all
that a plugin registers; failures name the rule, what was found, and what to do.

```sh
uqbench plugin check my-method                       # exit code 1 if a required rule is broken
uqbench plugin check my-method --only agent-seeds    # subjects or checks whose name contains this
uqbench plugin check my-method --json                # for other tools
```

Levels: *required* for a row on a board; *checkpointable* runs resume where they were interrupted;
*compiled* agents run at full speed, on a GPU too; *calibrated* ones, `AgentSpec(calibrated=True)`,
have intervals for Q that cover what they say. A check whose prerequisite failed is blocked, so that
one mistake is one message. A rule that applies, but that nothing could have
broken here (no episode ended, the values still moved), is *vacuous*: it is no pass, and is printed
with its reason. It is a failure if nothing was learned (`agent-learns`), and if there is nothing
to check at all. Components that no installed suite uses, and those whose data is not on the machine
(a `uqbench.contract.errors.MissingDataError`), are skipped and listed.

In a plugin's tests:

```python
from uqbench import testing


def test_it_conforms():
    testing.check("my-method")  # or a class
```

It raises with every required rule that is broken; `only="agent-lanes"` makes that check alone,
after those that it builds on. An agent with a config of your choice is an `AgentSubject`
(`uqbench.testing.conformance.agent_runs`): `uqbench.testing.results.results([subject])` makes its
checks. An agent is tried on the task of the suites that use it whose steps cost least.

Known failures are declared, each with a reason, by the hook
`uqbench_expected_failures` (or the argument `expected_failures` of `AgentSubject`). If an expected
failure passes, that is reported as a failure.
"""


def page() -> str:
    """The page's text."""
    parts = [HEAD]
    kinds = groupby(sorted(all_checks(), key=lambda one: one.of.kind), key=lambda one: one.of.kind)
    for kind, checks in kinds:
        parts.append(f"\n## {kind[0].upper()}{kind[1:]}\n")
        parts += [
            f"\n### {check.id}\n\n{check.rule} *{check.level.capitalize()}.*\n\n"
            f"Tried: {check.tried}\n\nFix: {check.fix}\n"
            for check in checks
        ]
    return "".join(parts)


if __name__ == "__main__":
    print(page(), end="")
