import pytest

from uqbench.registry import Host
from uqbench.runner import make_batch_groups
from uqbench.runner.batches import GPU_LANES, default_lanes
from uqbench.suites import Method, Suite, make_plan, read_suites


@pytest.fixture(scope="module")
def host() -> Host:
    return Host.load()


@pytest.fixture(scope="module")
def suite(host: Host) -> Suite:
    return read_suites(host, check=("minatar",)).suite("minatar")


def test_a_method_may_be_for_some_budgets_and_can_be_asked_for_in_all(host, suite):
    def methods(budget, *names):
        plan = make_plan(suite, host, budget, device="cpu", methods=names or None)
        return {cell.method.name for cell in plan.cells}, plan.standard

    variant = "dqn-default"
    assert variant in methods("night")[0]
    assert variant not in methods("quick")[0]
    assert methods("quick")[1]
    assert methods("quick", variant) == ({variant}, False)


def test_a_role_in_the_suite_replaces_the_agents_and_is_inherited(host, suite):
    base = suite.method("dqn").model_copy(update={"role": "trivial"})
    variant = Method(name="variant", base="dqn").on(base)
    of = suite.model_copy(update={"methods": [suite.method("qr-dqn"), base, variant]})
    plan = make_plan(of, host, "quick", device="cpu", methods=["qr-dqn", "dqn", "variant"])
    assert plan.roles == {"qr-dqn": "method", "dqn": "trivial", "variant": "trivial"}


def test_a_selection_has_a_leaderboard_of_its_own(host, suite):
    of_dqn = {"methods": ["dqn"]}, {"settings": {"dqn": {"batch_size": 16}}}
    chosen = [{}, {"seeds": [0]}, {"steps": 640}, *of_dqn]
    plans = [make_plan(suite, host, device="cpu", **of) for of in chosen]
    assert [plan.standard for plan in plans] == [True, False, False, False, False]
    assert len({plan.name for plan in plans}) == len(plans)
    assert plans[0].name == "quick"


def test_the_budget_scales_schedules_and_what_is_set_is_taken_as_it_is(host, suite):
    def config(budget, **settings):
        settings = {"dqn": settings} if settings else None
        plan = make_plan(suite, host, budget, device="cpu", methods=["dqn"], settings=settings)
        return plan.cells[0].config

    paper, quick = config("paper"), config("quick")
    # the target's period is one of the budget's own values, which the schedule does not scale
    for of, steps in ((paper, (5000, 1000, 100_000)), (quick, (1200, 3200, 24_000))):
        assert (of.learning_starts, of.target_sync_period, of.epsilon_decay_steps) == steps
    assert paper.replay_capacity == quick.replay_capacity == 100_000
    assert config("quick", learning_starts=7).learning_starts == 7


def test_methods_meet_the_same_worlds_with_different_luck(host, suite):
    plan = make_plan(suite, host, device="cpu", tasks=["breakout"], seeds=[0, 1])
    runs = {(run.method, run.seed): run for run in plan.runs}
    dqn, qr, other = runs["dqn", 0], runs["qr-dqn", 0], runs["dqn", 1]
    assert dqn.environment_seed == qr.environment_seed != other.environment_seed
    assert len({dqn.agent_seed, qr.agent_seed, other.agent_seed}) == 3
    assert len({dqn.environment_seed, *(dqn.evaluation_seed(m) for m in range(20))}) == 21


def test_identity_holds_what_changes_numbers_and_nothing_else(host, suite):
    base = make_plan(suite, host, device="cpu").runs[0]
    assert base.on_device("cuda") != base
    assert base.on_device("cuda").on_device("cpu") == base
    slower = suite.budget("quick").model_copy(update={"step_ms": 9.0})
    for change in ({"summary": "other"}, {"budgets": suite.budgets | {"quick": slower}}):
        assert make_plan(suite.model_copy(update=change), host, device="cpu").runs[0] == base


def test_a_budget_may_give_tasks_steps_of_their_own(host, suite):
    """Identity, batches and the estimate have the task's steps; ``--steps`` is for all tasks."""
    longer = suite.budget("night").model_copy(update={"task_steps": {"breakout": 640}})
    changed = suite.model_copy(update={"budgets": suite.budgets | {"night": longer}})
    plan = make_plan(changed, host, "night", device="cpu", methods=["dqn"])
    batches = [batch for (batch,) in make_batch_groups(plan, set(plan.runs), "cpu", lanes=5)]
    assert {batch.budget.steps for batch in batches} == {640, longer.steps}
    for batch in batches:
        expected = 640 if batch.cell.task.name == "breakout" else longer.steps
        assert batch.budget.steps == expected
        assert {run.identity["budget"]["steps"] for run in batch.runs} == {expected}
    as_before = make_plan(suite, host, "night", device="cpu", methods=["dqn"])
    moved = {run.task for run in set(as_before.runs) - set(plan.runs)}
    assert moved == {"breakout"}
    trial = make_plan(changed, host, "night", device="cpu", methods=["dqn"], steps=64)
    assert {run.identity["budget"]["steps"] for run in trial.runs} == {64}


@pytest.mark.parametrize(
    ("device", "lanes", "largest"), [("cpu", 4, 4), ("cpu", 2, 2), ("cpu", 1, 1), ("cuda", 1, 5)]
)
def test_batches_hold_every_run_to_do_once_and_never_mix_cells(host, suite, device, lanes, largest):
    plan = make_plan(suite, host, "night", device="cpu", methods=["dqn", "qr-dqn"], seeds=range(5))
    todo = set(plan.runs[1:])
    batches = [batch for group in make_batch_groups(plan, todo, device, lanes) for batch in group]
    runs = [run for batch in batches for run in batch.runs]
    assert sorted(run.name for run in runs) == sorted(run.name for run in todo)
    assert max(len(batch.runs) for batch in batches) == largest
    assert all(len({(r.task, r.method) for r in batch.runs}) == 1 for batch in batches)


def test_on_a_cpu_a_program_is_a_batch_and_on_a_gpu_a_methods_tasks(host, suite):
    plan = make_plan(suite, host, device="cpu", methods=["dqn", "qr-dqn"])
    assert all(len(group) == 1 for group in make_batch_groups(plan, plan.runs, "cpu", 5))
    groups = make_batch_groups(plan, plan.runs, "cuda", 5)
    found = [{batch.cell.method.name for batch in group} for group in groups]
    assert found == [{"dqn"}, {"qr-dqn"}]
    tasks = len(suite.tasks_of(plan.budget))
    assert [len(group) for group in groups] == [tasks, tasks]


def test_a_program_on_a_gpu_has_no_more_lanes_than_its_memory_holds(host, suite):
    plan = make_plan(suite, host, device="cpu", methods=["dqn"], seeds=range(40))
    groups = make_batch_groups(plan, plan.runs, "cuda", 5)
    assert all(sum(len(b.runs) for b in group) <= GPU_LANES for group in groups)
    assert sum(len(b.runs) for group in groups for b in group) == len(plan.runs)


@pytest.mark.parametrize(
    ("runs", "workers", "lanes"), [(100, 1, 5), (9, 1, 2), (9, 2, 1), (24, 2, 3), (1, 99, 1)]
)
def test_unmeasured_batches_are_small_enough_that_every_worker_has_several(runs, workers, lanes):
    assert default_lanes(runs, workers) == lanes


def test_queries_in_a_runs_identity_are_without_a_key_that_came_later_and_is_not_set(host, suite):
    def asked(budget):
        plan = make_plan(suite, host, budget, device="cpu", methods=["dqn"], seeds=[0])
        return {frozenset(run.identity["budget"]["queries"]) for run in plan.runs}

    assert asked("quick") == {frozenset({"states", "early_states", "rollouts", "tail"})}
    (of_night,), (of_quick,) = asked("night"), asked("quick")
    assert of_night - of_quick == {"most_rollouts"}
