"""Suite files: how they are read, their keys, page and schema, and rows that plugins add."""

import json
import re
import runpy
import tomllib
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
from toy_runs import plan_of
from uqbench_testing.command import check

from uqbench import Spec
from uqbench.errors import UqbenchError
from uqbench.registry import Added, Host, local
from uqbench.risk import RiskMeasure
from uqbench.suites import Catalog, Suite, make_plan, method_config, parse_suite, read_suites

TOY = Path(__file__).parents[1] / "toy"


def text() -> str:
    return (TOY / "toy_uqbench" / "toy.toml").read_text()


def parse(host: Host, old: str = "", new: str = "") -> Suite:
    assert old in text()
    return parse_suite(text().replace(old, new, 1) if old else text(), host, "toy.toml")


WRONG = [
    ("summary", "sumary", "top level: unknown key 'sumary'. Did you mean 'summary'"),
    ("discount", "discont", "tasks.short: unknown key 'discont'. Did you mean 'discount'"),
    ("seeds = 2", "seeds = 2\nqueries = { evaluation = true }",
     "budgets.smoke.queries: unknown key 'evaluation'. Known: early_states"),
    ("length = 3 }", 'length = 3 }\nworlds = "drwn"',
     "tasks.short.worlds: Input should be 'fixed' or 'drawn'"),
    ("max_steps", "maxsteps", "unknown key 'maxsteps'. Did you mean 'max_steps'"),
    ("seeds = 2", 'seeds = "2"', "budgets.smoke.seeds: Input should be a valid integer"),
    ("seeds = 2", "seeds = 0", "budgets.smoke.seeds: Input should be greater than 0"),
    ("seeds = 2", "seeds = 2\ntask_steps = { lnog = 9 }",
     "task_steps: there is no task 'lnog'"),
    ("discount = 1.0", "discount = 1.5", "tasks.short.discount: Input should be less than"),
    ('"corridor"', '"coridor"', "no environment 'coridor'. Did you mean 'corridor'"),
    ("{ length = 3 }", "{ lenght = 3 }", "config: unknown key 'lenght'. Did you mean 'len"),
    ("forward = 0.6", "foward = 0.6", "unknown key 'foward'. Did you mean 'forward'"),
    ("forward = 0.6", 'forward = "0.6"', "forward: Input should be a valid number"),
    ("tasks.long", "tasks.lnog", "methods.fast.tasks: there is no task 'lnog'"),
    ("window = ", 'tasks = ["lnog"]\nwindow = ', ".tasks: there is no task 'lnog'"),
    ('name = "fast"', 'name = "fast"\nbudgets = ["papr"]',
     "methods.fast.budgets: there is no budget 'papr'. Did you mean 'paper'"),
    ("[budgets.smoke]", "[budgets.smoke]\nconfig = { foward = 0.1 }",
     "budgets.smoke.config: there is no method with a field 'foward'. Did you mean"),
    ("[budgets.smoke]", '[budgets.smoke]\nconfig = { forward = "a" }',
     "methods.slow under budget 'smoke'.config: forward: Input should be a valid number"),
    ('name = "fast"', 'name = "fast"\nbudget_config.smok = { forward = 0.1 }',
     "methods.fast.budget_config: there is no budget 'smok'. Did you mean 'smoke'"),
    ('name = "fast"', 'name = "fast"\nbudget_config.smoke = { foward = 0.1 }',
     "unknown key 'foward'. Did you mean 'forward'"),
    ('primary = "online_return"', 'primary = "x"', "primary: there is no metric 'x'"),
    ('default_budget = "paper"', 'default_budget = "p"', "there is no budget 'p'"),
    ("[budgets.smoke]", '[budgets.smoke]\nalso_ranked_by = ["onlin_return"]',
     "there is no metric 'onlin_return'. Did you mean 'online_return'"),
    ("[budgets.smoke]", '[budgets.smoke]\nalso_ranked_by = ["evaluation_return"]',
     "its ranking metric 'evaluation_return' needs an 'evaluation' table here"),
    ("[budgets.smoke]", "[budgets.other]", "every suite needs smoke and paper"),
    ("[budgets.smoke]", '[budgets."../../evil"]', "budgets.../../evil.[key]: String should"),
    ("[budgets.smoke]", f"[budgets.{'a' * 101}]", "String should have at most 100"),
    ("cvar(0.25)", "cvra(0.25)", "no risk measure 'cvra'. Did you mean 'cvar'"),
    ("window = 0.5", "window = 0.123", "window: expected whole hundredths"),
    ("long = { zero = 0.0, one = 7.5 }", "", "constants.long = { zero"),
    ("one = 9.0", "one = -9.0", "must be better than zero"),
    ('name = "fast"', 'name = "slow"', "methods: the name 'slow' is taken"),
    ('name = "toy"', 'name = "toy', "not valid TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_what_is_wrong_in_a_suite_is_told_with_file_key_and_nearest_name(host, old, new, message):
    with pytest.raises(UqbenchError) as caught:
        parse(host, old, new)
    assert str(caught.value).startswith("toy.toml: ")
    assert message in str(caught.value)


def test_all_rows_of_a_kind_that_are_wrong_are_told_at_once(host):
    with pytest.raises(UqbenchError) as caught:
        parse_suite(text().replace('agent = "walker"', 'agent = "waker"'), host, "toy.toml")
    for name, line in zip(("slow", "fast"), str(caught.value).splitlines(), strict=True):
        assert line.startswith(f"toy.toml: methods.{name}.agent: there is no agent 'waker'")


def join(host: Host, folder: Path, **texts: str) -> Catalog:
    """All suites, once more files of the first plugin are read."""
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
        host.suite_files.append((folder / f"{name}.toml", host.plugins[0]))
    return read_suites(host)


def method(suite: str, name: str, of: str = 'agent = "walker"') -> str:
    return f'[[extend.{suite}.methods]]\nname = "{name}"\n{of}\n'


def test_another_plugin_joins_methods_and_a_wrong_one_is_left_out_with_its_reason(host, tmp_path):
    wrong, taken = method("toy", "fourth", 'agent = "wlaker"'), method("toy", "fast")
    catalog = join(host, tmp_path, bad=wrong, again=taken, good=method("toy", "third"))
    assert [m.name for m in catalog.suite("toy").methods] == ["slow", "fast", "third"]
    misspelt, second = catalog.problems
    assert misspelt.plugin == host.plugins[0]
    assert "bad.toml" in misspelt.reason
    assert "no agent 'wlaker'. Did you mean 'walker'?" in misspelt.reason
    assert "the name 'fast' is taken" in second.reason


def test_a_slip_in_the_name_of_the_suite_to_join_is_told_with_the_nearest(host, tmp_path):
    # a suite of a package that is not installed is no slip
    files = {"slip": method("toys", "third"), "elsewhere": method("minatar", "third")}
    (problem,) = join(host, tmp_path, **files).problems
    assert "slip.toml" in problem.reason
    assert "extend.toys: there is no suite 'toys'. Did you mean 'toy'?" in problem.reason


def test_who_extends_a_suite_that_did_not_load_is_told_so(host, tmp_path):
    broken = 'name = "lake"\nversion = "1"\n'
    own, told = join(host, tmp_path, broken=broken, joins=method("lake", "third")).problems
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
    assert (fastest.agent, fastest.config) == (fast.agent, {**fast.config, "forward": 0.99})
    assert fastest.tasks == {**fast.tasks, "short": {"forward": 1.0}}


def test_a_base_may_be_another_plugins(host, tmp_path):
    files = {"first": method("toy", "variant", 'base = "third"'), "second": method("toy", "third")}
    assert join(host, tmp_path, **files).suite("toy").method("variant").agent == "walker"


WRONG_BASES = [
    ('base = "fast"', 'base = "fsat"', "no method 'fsat'. Did you mean 'fast'"),
    ('base = "fast"', 'base = "fastest"', "faster → fastest → faster is a cycle"),
    ('base = "fast"', 'base = "fast"\nagent = "walker"', "exactly one of 'agent'"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG_BASES)
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
    budget = "[budgets.smoke]\nschedule = 0.5\nconfig = { forward = 0.2 }\n"
    of_budget = text().replace("[budgets.smoke]\n", budget)
    own = 'name = "fast"\nbudget_config.smoke = { forward = 0.3 }'
    of_method = of_budget.replace('name = "fast"', own)
    suite, special = (parse_suite(of, host, "toy.toml") for of in (of_budget, of_method))

    def forward(suite, budget, task="short", **given):
        settings = {"fast": given} if given else None
        chosen = {"methods": ["fast"], "tasks": [task], "settings": settings}
        plan = plan_of(host, budget, suite=suite, **chosen)
        found = plan.cells[0].config.forward
        assert plan.runs[0].identity["method"]["config"]["forward"] == found
        return found

    tasks_own = forward(suite, "paper", "long")
    assert len({forward(suite, "paper"), tasks_own, 0.2}) == 3
    assert forward(suite, "smoke") == forward(suite, "smoke", "long") == 0.2
    assert forward(special, "smoke", "long") == 0.3
    assert forward(special, "paper", "long") == tasks_own
    assert forward(special, "smoke", "long", forward=0.4) == 0.4


@pytest.mark.parametrize(
    ("name", "said"), [("foward", "Did you mean 'forward'?"), ("forward", None)]
)
def test_a_name_in_a_budgets_config_is_checked_when_methods_are_there(host, tmp_path, name, said):
    """A field may be of a method that another plugin joins; a wrong name takes the suite out."""
    first, last = text().index("[[methods]]"), text().index("[budgets.smoke]")
    methods = text()[first:last].replace("[[methods]]", "[[extend.toy2.methods]]")
    suite = (text()[:first] + text()[last:]).replace('name = "toy"', 'name = "toy2"', 1)
    config = f"[budgets.smoke]\nconfig = {{ {name} = 0.5 }}"
    host.suite_files.clear()
    catalog = join(host, tmp_path, own=suite.replace("[budgets.smoke]", config), joined=methods)
    assert ("toy2" in catalog.suites) == (said is None)
    assert len(catalog.problems) == (said is not None)
    assert all(said in problem.reason for problem in catalog.problems)


def test_minatar_is_the_protocol_of_the_paper():
    host = Host.load()
    suite = read_suites(host).suite("minatar")
    paper = suite.budget("paper")
    assert (paper.steps, paper.seeds, len(suite.tasks_of(paper))) == (5_000_000, 10, 5)
    assert (paper.schedule, paper.ranks) == (1.0, True)
    assert {task.discount for task in suite.tasks} == {0.99}
    assert all(task.config["sticky_action_prob"] == 0.1 for task in suite.tasks)
    assert all(task.config["difficulty_ramping"] for task in suite.tasks)
    assert suite.metric("online_return").window == 0.1
    script = suite.method("script")
    for task in suite.tasks:  # a name follows the task's config, too
        assert method_config(script, task, host, where="x").game == task.config["game"]


ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob("plugins/*/src/**/*.toml"))


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(ROOT / "tools" / "suite_keys.py"))


def test_the_schema_is_that_of_the_models(tool):
    """``python tools/suite_keys.py`` writes it."""
    stored = (ROOT / "docs" / "suite.schema.json").read_text(encoding="utf-8")
    assert stored == tool["schema_file"]()


def test_the_page_tells_each_key_of_each_table_with_its_type(tool):
    page = tool["page"]()
    for table, model in tool["TABLES"].items():
        _, _, after = page.partition(f"\n## {f'`{table}`' if table else 'Top level'}\n")
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", after.partition("\n## ")[0], re.MULTILINE)
        assert [name for name, _ in rows] == list(model.model_fields)


def test_every_shipped_file_keeps_to_the_schema_and_a_slip_does_not():
    schema = json.loads((ROOT / "docs" / "suite.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    suites = [table for path in FILES if "summary" in (table := tomllib.loads(path.read_text()))]
    assert len(suites) > 10
    for table in suites:
        assert [error.message for error in validator.iter_errors(table)] == []
    suites[0]["budgets"]["smoke"]["sedes"] = 3
    assert "sedes" in str(next(validator.iter_errors(suites[0])))


@pytest.fixture
def suite(tmp_path, monkeypatch):
    monkeypatch.setenv("UQBENCH_PLUGINS", "builtin,uqbench-tabular")
    monkeypatch.setenv(local.VARIABLE, "[]")
    path = tmp_path / "mine.toml"
    path.write_text('[[extend.five-state.methods]]\nname = "slow"\nagent = "bql"\n')
    return path


def test_a_file_is_checked_without_a_run_and_what_is_wrong_is_said_once(suite, capsys):
    assert check.main([str(suite)], standalone_mode=False) == 0
    assert capsys.readouterr().out.startswith("five-state: ")
    suite.write_text(suite.read_text().replace("bql", "bqll"))
    with pytest.raises(UqbenchError) as error:
        check.main([str(suite)], standalone_mode=False)
    assert str(error.value).count("there is no agent 'bqll'. Did you mean 'bql'") == 1


ADDED = Path(__file__).with_name("added.toml").read_text("utf-8")


@dataclass(frozen=True)
class Worst(RiskMeasure):
    """The worst."""

    def __call__(self, values, probabilities, dim=-1):
        return values.amin(dim)


def catalog(host: Host, tmp_path: Path, text: str = ADDED) -> Catalog:
    path = tmp_path / "added.toml"
    path.write_text(text)
    host.suite_files.append((path, host.plugins[0]))
    return read_suites(host)


@pytest.fixture
def outside(host: Host) -> Host:
    added = Added({"risk measure": [Spec(name="worst", version="1", factory=Worst)]})
    host.register(name="worst", distribution="worst", version="1", load=lambda: added)
    return host


def digests(suite, host: Host, budget: str) -> dict:
    plan = make_plan(suite, host, budget, device="cpu")
    return {(run.task, run.method, run.seed): run.digest for run in plan.runs}


def test_every_kind_of_row_is_added(outside, tmp_path):
    found = catalog(outside, tmp_path)
    assert found.problems == ()
    suite = found.suite("toy")
    plan = make_plan(suite, outside, "far", device="cpu")
    methods = {"slow", "fast", "faster"}
    assert {(run.task, run.method) for run in plan.runs} == {("longer", name) for name in methods}
    assert suite.primary_metric(plan.budget).name == "bumps"
    assert [claim.id for claim, _ in plan.claims][-1] == "fast-bumps-less"


def test_boards_and_identities_that_were_there_stay(outside, tmp_path):
    before = read_suites(outside).suite("toy")
    after = catalog(outside, tmp_path).suite("toy")
    for budget in ("smoke", "paper"):
        assert digests(after, outside, budget) == digests(before, outside, budget)
        assert after.budget(budget) == before.budget(budget)
        assert make_plan(after, outside, budget, device="cpu").standard


def test_an_added_budget_that_names_no_tasks_has_all(outside, tmp_path):
    text = ADDED.replace('tasks = ["longer"]\nprimary = "bumps"\n', "")
    text = text.replace('metric = "bumps"', 'metric = "online_return"')
    found = catalog(outside, tmp_path, text)
    assert found.problems == ()
    plan = make_plan(found.suite("toy"), outside, "far", device="cpu")
    assert {run.task for run in plan.runs} == {"short", "long", "longer"}


BAD_ROWS = [
    ('environment = "corridor"\nconfig = { length = 9 }', 'environment = "coridor"',
     "tasks.longer.environment: there is no environment 'coridor'", "task"),
    ("events_per_episode/bumps", "events_per_episode/bmps", "there is no event", "metric"),
    ('primary = "bumps"', 'primary = "bmups"', "there is no metric 'bmups'", "budget"),
    ('agent = "walker"', 'agent = "wlaker"', "no agent 'wlaker'", "method"),
    ('kind = "order"', 'kind = "ordr"', "no claim kind 'ordr'", "claim"),
    ("[[extend.toy.claims]]", "[[extend.toy.clams]]", "unknown key 'clams'", "claim"),
    ("longer = { zero = 0.0, one = 5.0 }", "short = { zero = 0.0, one = 5.0 }",
     "those of 'short' are the suite's", "constants"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message", "lost"), BAD_ROWS)
def test_a_bad_row_is_told_and_the_others_stand(outside, tmp_path, old, new, message, lost):
    assert old in ADDED
    found = catalog(outside, tmp_path, ADDED.replace(old, new, 1))
    assert message in found.problems[0].reason
    suite = found.suite("toy")
    stands = {
        "task": "longer" in [task.name for task in suite.tasks],
        "metric": "bumps" in [metric.name for metric in suite.metrics],
        "constants": "longer" in suite.normalization["online_return"].constants,
        "budget": "far" in suite.budgets,
        "method": "faster" in [method.name for method in suite.methods],
        "claim": "fast-bumps-less" in [claim.id for claim in suite.claims],
    }
    assert not stands[lost]
    assert "worst" in [metric.name for metric in suite.metrics]
    if lost in ("method", "claim", "constants"):
        assert [name for name, there in stands.items() if not there] == [lost]
