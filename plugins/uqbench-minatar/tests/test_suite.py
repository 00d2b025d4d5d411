"""The line of facts on the pages of MinAtar's boards is that of their runs."""

import re

import pytest

from uqbench.registry.load_host import load_host
from uqbench.suites import Plan, Selection


def configs(plan: Plan) -> dict[str, dict[str, object]]:
    """The resolved settings of each method that learns."""
    own = {cell.method.name: cell.runs[0].identity["method"]["config"] for cell in plan.cells}
    return {name: of for name, of in own.items() if "learning_rate" in of}


@pytest.mark.parametrize("budget", ["quick", "night"])
def test_a_summary_tells_what_a_reviewer_asks_first(budget):
    plan = Selection("minatar", budget).plan(load_host(), "cpu")
    learners, steps, said = configs(plan), plan.budget.steps, plan.budget.summary
    for cell in plan.cells:
        assert cell.task.config["difficulty_ramping"]
        assert cell.task.config["sticky_action_prob"] == 0.1
    (taken,) = {
        ((steps - of["learning_starts"]) // of["learn_period"], of["batch_size"])
        for of in learners.values()
    }
    assert "Sticky actions (.1), difficulty ramping;" in said
    assert f"{steps:,} steps (frames) of {plan.budget.actors} actors" in said
    assert "{:,} gradient steps on {} transitions".format(*taken) in said


@pytest.mark.parametrize("budget", ["quick", "night"])
def test_a_summary_tells_the_epsilon_of_every_learner(budget):
    plan = Selection("minatar", budget).plan(load_host(), "cpu")
    said, falls, fixed, none = plan.budget.summary, {}, {}, set()
    for name, of in configs(plan).items():
        if of.get("exploration") == "epsilon-greedy":
            falls[name] = (of["epsilon_initial"], of["epsilon_final"], of["epsilon_decay_steps"])
        elif "epsilon" in of:
            fixed[name] = of["epsilon"]
        else:
            none.add(name.upper())
    told = re.search(r"ε from 1 to \.03 (.*)over ([\d,]+) steps.* of ([^.]*) none", said)
    steps = int(told[2].replace(",", ""))
    assert {(first, over) for first, _, over in falls.values()} == {(1.0, steps)}
    other = {name: last for name, (_, last, _) in falls.items() if last != 0.03}
    assert other == ({"dqn": 0.01} if "(DQN, tuned: .01)" in told[1] else {})
    assert fixed == ({"quam-dqn": 0.01} if "of QUAM-DQN .01 throughout" in said else {})
    assert none == {*re.split(", | and ", told[3].rpartition(" of ")[2])}
