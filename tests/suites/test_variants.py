"""Variants of methods: what --set with several values stands for."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from uqbench.cli.options import names
from uqbench.cli.options import settings as parsed
from uqbench.errors import UqbenchError
from uqbench.suites import Selection, variants

VALUES = (
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1)
    | st.lists(st.integers(0, 9), max_size=3)
)


@example({"a": ")"})
@given(st.dictionaries(st.sampled_from(["a", "b_c", "d"]), VALUES, min_size=1))
def test_a_name_says_its_values(values):
    name = variants.variant_name("dqn", values)
    assert (variants.base_name(name), variants.values_of(name)) == ("dqn", values)
    assert names(f"x,{name},y") == ("x", name, "y")


def test_names_are_short():
    assert variants.variant_name("dqn", {"learning_rate": 0.0001}) == "dqn[learning_rate=1e-4]"
    assert variants.variant_name("dqn", {"learning_rate": 0.00025}) == "dqn[learning_rate=0.00025]"
    assert variants.variant_name("m", {"risk": "cvar(0.25)", "n": 2}) == "m[risk=cvar(0.25),n=2]"


def test_several_values_are_a_grid_and_nothing_else_is():
    assert variants.setting("1e-4,3e-4") == variants.Grid((1e-4, 3e-4))
    assert variants.setting('"cvar(0.2)","cvar(0.1)"') == variants.Grid(("cvar(0.2)", "cvar(0.1)"))
    assert variants.setting("[64, 64]") == [64, 64]
    assert variants.setting("a, b") == variants.Grid(("a", "b"))
    assert variants.setting("cvar(0.1),mean(1, 2)") == variants.Grid(("cvar(0.1)", "mean(1, 2)"))
    for one in ("mean-std(1, 2)", "a,", ","):
        assert variants.setting(one) == one
    assert variants.setting('"a,b"') == variants.setting("'a,b'") == "a,b"
    assert variants.setting("'a,b', 'c\\'") == variants.Grid(
        ("a,b", "c\\")
    )  # a literal string escapes nothing
    assert variants.setting("it's,that's") == variants.Grid(("it's", "that's"))
    assert variants.values_of("dqn[a='x,y',b=\"it's\"]") == {"a": "x,y", "b": "it's"}
    assert variants.setting("1e-4") == 1e-4


def test_variants_take_the_place_of_their_method(host):
    settings = parsed(("slow.forward=0.5,0.7",))
    plan = Selection("toy", seeds=(0,), settings=settings).plan(host, "cpu")
    forward = {"slow[forward=0.5]": 0.5, "slow[forward=0.7]": 0.7, "fast": 0.95}
    assert list(plan.roles) == [*forward]
    assert {c.method.name: c.config.forward for c in plan.cells} == forward
    again = Selection("toy", seeds=(0,), methods=tuple(plan.roles)).plan(host, "cpu")
    assert (again.runs, again.name) == (plan.runs, plan.name)
    assert not again.standard
    assert "m[a=1,b=4]" in variants.expanded(
        "m", {"a": variants.grid(1, 2), "b": variants.grid(3, 4), "c": 5}
    )


def test_one_value_keeps_the_name_and_so_the_runs_of_before(host):
    plan = Selection("toy", seeds=(0,), settings={"slow": {"forward": 0.5}}).plan(host, "cpu")
    assert list(plan.roles) == ["slow", "fast"]


def test_wrong_names_say_what_was_expected(host):
    for name, said in (
        ("slow[forward=0.5", "no closing bracket"),
        ("slow[0.5]", "'0.5' is no KEY=VALUE"),
        ("slow[frward=0.5]", "unknown key 'frward'. Did you mean 'forward'"),
        ("slw[forward=0.5]", "no method 'slw'. Did you mean 'slow'"),
    ):
        with pytest.raises(UqbenchError, match=said):
            Selection("toy", methods=(name,)).plan(host, "cpu")
    with pytest.raises(UqbenchError, match="no values"):
        variants.grid()
