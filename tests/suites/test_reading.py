import sys
from importlib.resources import files
from pathlib import Path

import pytest

from uqbench.errors import UqbenchError
from uqbench.registry import Host
from uqbench.suites import Suite, make_plan, method_config, parse_suite, read_suites
from uqbench.suites.rows import extended

TOY = Path(__file__).parents[1] / "toy"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.syspath_prepend(str(TOY))
    import toy_uqbench

    host = Host.load()
    assert "toy" in [plugin.name for plugin in host.plugins]
    yield host
    del toy_uqbench
    for name in [name for name in sys.modules if name.startswith("toy_uqbench")]:
        del sys.modules[name]


def text() -> str:
    return (TOY / "toy_uqbench" / "toy.toml").read_text()


def parse(host: Host, old: str = "", new: str = "") -> Suite:
    assert old in text()
    return parse_suite(text().replace(old, new, 1) if old else text(), host, "toy.toml")


def test_a_suite_is_read(host):
    suite = parse(host)
    assert [task.name for task in suite.tasks] == ["short", "long"]
    assert suite.task("long").time_limit_is == "truncation"
    assert suite.budget("paper").evaluation.every == 300
    assert suite.primary_metric(suite.budget("paper")).name == "online_return"
    assert (
        suite.normalization_constants(suite.metric("online_cvar25"))["short"].normalize(4.5) == 0.5
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("summary", "sumary", "top level: unknown key 'sumary'. Did you mean 'summary'"),
        ("discount", "discont", "tasks.short: unknown key 'discont'. Did you mean 'discount'"),
        (
            "seeds = 2",
            "seeds = 2\nqueries = { evaluation = true }",
            "budgets.smoke.queries: unknown key 'evaluation'. Known: early_states",
        ),
        (
            "length = 3 }",
            'length = 3 }\nworlds = "drwn"',
            "tasks.short.worlds: Input should be 'fixed' or 'drawn'",
        ),
        ("max_steps", "maxsteps", "unknown key 'maxsteps'. Did you mean 'max_steps'"),
        ("seeds = 2", 'seeds = "2"', "budgets.smoke.seeds: Input should be a valid integer"),
        ("seeds = 2", "seeds = 0", "budgets.smoke.seeds: Input should be greater than 0"),
        (
            "seeds = 2",
            "seeds = 2\ntask_steps = { lnog = 9 }",
            "task_steps: there is no task 'lnog'",
        ),
        ("discount = 1.0", "discount = 1.5", "tasks.short.discount: Input should be less than"),
        ('"corridor"', '"coridor"', "no environment 'coridor'. Did you mean 'corridor'"),
        ("{ length = 3 }", "{ lenght = 3 }", "config: unknown key 'lenght'. Did you mean 'len"),
        ('agent = "walker"', 'agent = "waker"', "no agent 'waker'. Did you mean 'walker'"),
        ("forward = 0.6", "foward = 0.6", "unknown key 'foward'. Did you mean 'forward'"),
        ("forward = 0.6", 'forward = "0.6"', "forward: Input should be a valid number"),
        ("tasks.long", "tasks.lnog", "methods.fast.tasks: there is no task 'lnog'"),
        ("window = ", 'tasks = ["lnog"]\nwindow = ', ".tasks: there is no task 'lnog'"),
        (
            'name = "fast"',
            'name = "fast"\nbudgets = ["papr"]',
            "methods.fast.budgets: there is no budget 'papr'. Did you mean 'paper'",
        ),
        (
            "[budgets.smoke]",
            "[budgets.smoke]\nconfig = { foward = 0.1 }",
            "budgets.smoke.config: there is no method with a field 'foward'. Did you mean",
        ),
        (
            "[budgets.smoke]",
            '[budgets.smoke]\nconfig = { forward = "a" }',
            "methods.slow under budget 'smoke'.config: forward: Input should be a valid number",
        ),
        (
            'name = "fast"',
            'name = "fast"\nbudget_config.smok = { forward = 0.1 }',
            "methods.fast.budget_config: there is no budget 'smok'. Did you mean 'smoke'",
        ),
        (
            'name = "fast"',
            'name = "fast"\nbudget_config.smoke = { foward = 0.1 }',
            "unknown key 'foward'. Did you mean 'forward'",
        ),
        ('primary = "online_return"', 'primary = "x"', "primary: there is no metric 'x'"),
        ('default_budget = "paper"', 'default_budget = "p"', "there is no budget 'p'"),
        (
            "[budgets.smoke]",
            '[budgets.smoke]\nalso_ranked_by = ["onlin_return"]',
            "there is no metric 'onlin_return'. Did you mean 'online_return'",
        ),
        (
            "[budgets.smoke]",
            '[budgets.smoke]\nalso_ranked_by = ["evaluation_return"]',
            "its ranking metric 'evaluation_return' needs an 'evaluation' table here",
        ),
        ("[budgets.smoke]", "[budgets.other]", "every suite needs smoke and paper"),
        ("[budgets.smoke]", '[budgets."../../evil"]', "budgets.../../evil.[key]: String should"),
        ("[budgets.smoke]", '[budgets."/tmp"]', "budgets./tmp.[key]: String should match"),
        ("[budgets.smoke]", f"[budgets.{'a' * 101}]", "String should have at most 100"),
        ("cvar(0.25)", "cvra(0.25)", "no risk measure 'cvra'. Did you mean 'cvar'"),
        ("cvar(0.25)", "cvar(alpha = 0.25)", "expected numbers"),
        ("cvar(0.25)", "cvar(2.0)", "alpha must be in (0, 1]"),
        ("window = 0.5", "window = 0.123", "window: expected whole hundredths"),
        ("long = { zero = 0.0, one = 7.5 }", "", "constants.long = { zero"),
        ("one = 9.0", "one = -9.0", "must be better than zero"),
        ('name = "fast"', 'name = "slow"', "methods: the name 'slow' is taken"),
        ('name = "toy"', 'name = "toy', "not valid TOML"),
    ],
)
def test_what_is_wrong_in_a_suite_is_told_with_file_key_and_nearest_name(host, old, new, message):
    with pytest.raises(UqbenchError) as caught:
        parse(host, old, new)
    assert str(caught.value).startswith("toy.toml: ")
    assert message in str(caught.value)


def test_all_rows_of_a_kind_that_are_wrong_are_told_at_once(host):
    with pytest.raises(UqbenchError) as caught:
        parse_suite(text().replace('agent = "walker"', 'agent = "waker"'), host, "toy.toml")
    slow, fast = str(caught.value).splitlines()
    assert slow.startswith("toy.toml: methods.slow.agent: there is no agent 'waker'")
    assert fast.startswith("toy.toml: methods.fast.agent: there is no agent 'waker'")


def test_another_plugin_joins_methods_and_a_wrong_one_is_left_out_with_its_reason(host, tmp_path):
    plugin = host.plugins[0]
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('[[extend.toy.methods]]\nname = "third"\nagent = "walker"\n')
    bad.write_text('[[extend.toy.methods]]\nname = "fourth"\nagent = "wlaker"\n')
    host.suite_files += [(bad, plugin), (good, plugin)]
    catalog = read_suites(host)
    assert [m.name for m in catalog.suite("toy").methods] == ["slow", "fast", "third"]
    (problem,) = catalog.problems
    assert problem.plugin == plugin
    assert "bad.toml" in problem.reason
    assert "no agent 'wlaker'. Did you mean 'walker'?" in problem.reason


def test_a_slip_in_the_name_of_the_suite_to_join_is_told_with_the_nearest(host, tmp_path):
    slip, elsewhere = tmp_path / "slip.toml", tmp_path / "elsewhere.toml"
    slip.write_text('[[extend.toys.methods]]\nname = "third"\nagent = "walker"\n')
    # a suite of a package that is not installed: no slip
    elsewhere.write_text('[[extend.minatar.methods]]\nname = "third"\nagent = "walker"\n')
    host.suite_files += [(slip, host.plugins[0]), (elsewhere, host.plugins[0])]
    (problem,) = read_suites(host).problems
    assert "slip.toml" in problem.reason
    assert "extend.toys: there is no suite 'toys'. Did you mean 'toy'?" in problem.reason


def test_who_extends_a_suite_that_did_not_load_is_told_so(host, tmp_path):
    broken, joins = tmp_path / "broken.toml", tmp_path / "joins.toml"
    broken.write_text('name = "lake"\nversion = "1"\n')
    joins.write_text('[[extend.lake.methods]]\nname = "third"\nagent = "walker"\n')
    host.suite_files += [(broken, host.plugins[0]), (joins, host.plugins[-1])]
    own, told = read_suites(host).problems
    assert told.plugin == host.plugins[-1]
    assert f"extend.lake: the suite did not load: {own}" in told.reason


METHODS = """
[[methods]]
name = "faster"
base = "fast"
config = { forward = 0.99 }

[[methods]]
name = "fastest"
base = "faster"
tasks.short = { forward = 1.0 }
"""


def test_a_variant_has_what_its_base_gives(host):
    suite = parse(host, "[budgets.smoke]", f"{METHODS}\n[budgets.smoke]")
    fast, fastest = suite.method("fast"), suite.method("fastest")
    assert fastest.agent == fast.agent
    assert fastest.config == {**fast.config, "forward": 0.99}
    assert fastest.tasks == {**fast.tasks, "short": {"forward": 1.0}}


def test_a_base_may_be_another_plugins(host, tmp_path):
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text('[[extend.toy.methods]]\nname = "variant"\nbase = "third"\n')
    second.write_text('[[extend.toy.methods]]\nname = "third"\nagent = "walker"\n')
    host.suite_files += [(first, host.plugins[0]), (second, host.plugins[0])]
    assert read_suites(host).suite("toy").method("variant").agent == "walker"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('base = "fast"', 'base = "fsat"', "no method 'fsat'. Did you mean 'fast'"),
        ('base = "fast"', 'base = "fastest"', "faster → fastest → faster is a cycle"),
        ('base = "fast"', 'base = "fast"\nagent = "walker"', "exactly one of 'agent'"),
    ],
)
def test_a_wrong_base_is_told(host, old, new, message):
    methods = METHODS.replace(old, new, 1)
    with pytest.raises(UqbenchError, match=message):
        parse(host, "[budgets.smoke]", f"{methods}\n[budgets.smoke]")


def test_tasks_share_defaults_and_a_config_may_follow_the_tasks(host):
    shared = '[task_defaults]\nenvironment = "corridor"\ndiscount = 0.5\nconfig = { length = 8 }'
    tasks = '[[tasks]]\nname = "a"\n[[tasks]]\nname = "b"\nconfig = { length = 4 }'
    head, rest = text().split("[[tasks]]", 1)
    methods = rest[rest.index("[[methods]]") :].replace("tasks.long", "tasks.b")
    methods = methods.replace("short = {", "a = {").replace("\nlong = {", "\nb = {")
    follow = '{ task = "length", times = 0.1, plus = 0.1 }'
    methods = methods.replace("forward = 0.6", f"forward = {follow}")
    suite = parse_suite("\n".join([head, shared, tasks, methods]), host, "toy.toml")
    a, b = suite.tasks
    assert (a.discount, a.config, b.config) == (0.5, {"length": 8}, {"length": 4})
    slow = next(m for m in suite.methods if "forward" in m.config)
    forward = [method_config(slow, task, host, where="x").forward for task in (a, b)]
    assert forward == pytest.approx([0.9, 0.5])
    wrong = methods.replace('task = "length"', 'task = "lenght"')
    with pytest.raises(UqbenchError, match="no 'lenght' in its config"):
        parse_suite("\n".join([head, shared, tasks, wrong]), host, "toy.toml")


def test_a_budget_sets_what_methods_have_and_each_value_replaces_the_one_before(host):
    """Method, task, scaled by the schedule; then, unscaled, budget, method in budget, ``--set``."""
    budget = "schedule = 0.5\nconfig = { forward = 0.2 }\n"
    suite = parse(host, "[budgets.smoke]\n", "[budgets.smoke]\n" + budget)
    own = 'name = "fast"\nbudget_config.smoke = { forward = 0.3 }'
    special = parse_suite(
        text()
        .replace("[budgets.smoke]\n", "[budgets.smoke]\n" + budget)
        .replace('name = "fast"', own),
        host,
        "toy.toml",
    )

    def forward(suite, budget, task="short", **given):
        plan = make_plan(
            suite,
            host,
            budget,
            device="cpu",
            methods=["fast"],
            tasks=[task],
            settings={"fast": given} if given else None,
        )
        (run, *_) = plan.runs
        assert run.identity["method"]["config"]["forward"] == plan.cells[0].config.forward
        return plan.cells[0].config.forward

    tasks_own = forward(suite, "paper", "long")
    assert len({forward(suite, "paper"), tasks_own, 0.2}) == 3
    assert forward(suite, "smoke") == forward(suite, "smoke", "long") == 0.2
    assert forward(special, "smoke", "long") == 0.3
    assert forward(special, "paper", "long") == tasks_own
    assert forward(special, "smoke", "long", forward=0.4) == 0.4


def test_a_name_in_a_budgets_config_is_checked_once_all_methods_are_there(host, tmp_path):
    """A field may be of a method that another plugin joins; a wrong name takes the suite out."""
    plugin = host.plugins[0]
    first, last = text().index("[[methods]]"), text().index("[budgets.smoke]")
    methods = text()[first:last].replace("[[methods]]", "[[extend.toy2.methods]]")
    suite = (text()[:first] + text()[last:]).replace('name = "toy"', 'name = "toy2"', 1)
    for name, expected in (("foward", "Did you mean 'forward'?"), ("forward", None)):
        own, joined = tmp_path / f"{name}.toml", tmp_path / f"{name}-methods.toml"
        own.write_text(
            suite.replace("[budgets.smoke]", f"[budgets.smoke]\nconfig = {{ {name} = 0.5 }}")
        )
        joined.write_text(methods)
        host.suite_files[:] = [(own, plugin), (joined, plugin)]
        catalog = read_suites(host)
        assert ("toy2" in catalog.suites) == (expected is None)
        assert len(catalog.problems) == (expected is not None)
        assert all(expected in problem.reason for problem in catalog.problems)


def test_a_joined_method_may_not_take_a_name(host):
    table = {"methods": [{"name": "fast", "agent": "walker"}]}
    joined, (problem,) = extended(parse(host), table, host, "x.toml", {})
    assert "the name 'fast' is taken" in problem
    assert joined == parse(host)


def test_minatar_is_the_protocol_of_the_paper():
    host = Host.load()
    suite = read_suites(host).suite("minatar")
    paper = suite.budget("paper")
    assert (paper.steps, paper.seeds, len(suite.tasks_of(paper))) == (5_000_000, 10, 5)
    assert paper.schedule == 1.0
    assert {task.discount for task in suite.tasks} == {0.99}
    assert all(task.config["sticky_action_prob"] == 0.1 for task in suite.tasks)
    assert all(task.config["difficulty_ramping"] for task in suite.tasks)
    assert suite.metric("online_return").window == 0.1
    assert {name: budget.ranks for name, budget in suite.budgets.items()} == {
        "smoke": False,
        "quick": True,
        "night": True,
        "night-freeway": False,
        "night-heads": True,
        "search": False,
        "search-last": False,
        "paper": True,
    }
    assert {method.name for method in suite.methods} >= {"dqn", "qr-dqn"}
    script = next(method for method in suite.methods if method.name == "script")
    for task in suite.tasks:  # a name follows the task's config, too
        assert method_config(script, task, host, where="x").game == task.config["game"]
    assert (files("uqbench_minatar") / "suites" / "minatar.toml").is_file()
