"""Typed settings: wrong ones are named, step counts are scaled, the user's own values are not."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from uqbench.config import LATER, Steps, as_table, resolve
from uqbench.errors import UqbenchError


@dataclass(frozen=True, kw_only=True)
class Settings:
    learning_rate: float = 1e-4
    batch_size: int = 32
    learning_starts: Steps = 5_000
    target_sync_period: Steps = 1_000
    hidden: tuple[int, ...] = (128,)
    dueling: bool = False
    norm: Literal["none", "layer"] = "none"
    name: str = "x"
    burn_in: Steps | None = None


@dataclass(frozen=True)
class Required:
    game: str
    lives: int = 3

    def __post_init__(self) -> None:
        if self.lives < 1:
            raise ValueError(f"lives must be positive; got {self.lives}")


def read(settings: dict[str, Any], config: type[Any] = Settings, **keywords: Any) -> Any:
    return resolve(config, settings, where="minatar.toml: methods.dqn.config", **keywords)


def refusal(settings: dict[str, Any], config: type[Any] = Settings, **keywords: Any) -> str:
    with pytest.raises(UqbenchError) as caught:
        read(settings, config, **keywords)
    return str(caught.value)


def test_a_field_that_came_later_is_in_no_identity_at_its_default() -> None:
    @dataclass(frozen=True)
    class Grown(Required):
        speed: float = field(default=1.0, metadata=LATER)

    assert as_table(Grown("x")) == as_table(Required("x"))
    assert as_table(Grown("x", speed=2.0)) == {"game": "x", "lives": 3, "speed": 2.0}
    assert resolve(Grown, {"game": "x"}, where="", overrides={"lives": 2}) == Grown("x", 2)


GIVEN = [
    ({}, {}, Settings()),
    ({"learning_rate": 1, "dueling": True}, {}, Settings(learning_rate=1.0, dueling=True)),
    ({"norm": "layer", "name": "32"}, {}, Settings(norm="layer", name="32")),
    ({"hidden": [64, 64]}, {}, Settings(hidden=(64, 64))),
    ({}, {"overrides": {"hidden": []}}, Settings(hidden=())),
    # the user's own win over the suite's
    ({"batch_size": 8, "name": "suite"}, {"overrides": {"batch_size": 4}},
     Settings(batch_size=4, name="suite")),
    # a suite's step counts are scaled like defaults, where they may be left out, too
    ({"learning_starts": 200, "burn_in": 500}, {"schedule": 0.1},
     Settings(learning_starts=20, target_sync_period=100, burn_in=50)),
    # the user's own values are not
    ({"learning_starts": 200}, {"schedule": 0.1, "overrides": {"learning_starts": 70}},
     Settings(learning_starts=70, target_sync_period=100)),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "more", "expected"), GIVEN)
def test_settings_replace_defaults_and_are_of_the_fields_types(settings, more, expected):
    given = read(settings, **more)
    assert given == expected
    assert list(map(type, vars(given).values())) == list(map(type, vars(expected).values()))


@pytest.mark.parametrize("of", ["settings", "overrides"])
def test_an_unknown_key_is_told_with_its_place_and_the_nearest_name(of):
    wrong = {"learning_rat": 0.1}
    text = refusal(wrong) if of == "settings" else refusal({}, overrides=wrong)
    assert text == (
        "minatar.toml: methods.dqn.config: unknown key 'learning_rat'. "
        "Did you mean 'learning_rate' or 'learning_starts'?"
    )


WRONG_TYPES = [
    ("batch_size", "32"), ("batch_size", 32.5), ("batch_size", True), ("batch_size", None),
    ("learning_starts", "5000"), ("learning_rate", "1e-4"), ("dueling", 1), ("dueling", "true"),
    ("norm", "batch"), ("name", 32), ("hidden", 64), ("hidden", ["64"])]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), WRONG_TYPES)
@pytest.mark.parametrize("of", ["settings", "overrides"])
def test_a_value_of_the_wrong_type_is_told_with_place_key_and_value(key, value, of):
    text = refusal({key: value}) if of == "settings" else refusal({}, overrides={key: value})
    assert text.startswith(f"minatar.toml: methods.dqn.config: {key}")
    assert repr(value[0] if isinstance(value, list) else value) in text


def test_a_setting_without_default_must_be_given():
    assert "game" in refusal({}, Required)
    assert read({"game": "breakout"}, Required) == Required("breakout")


@pytest.mark.parametrize("of", ["settings", "overrides"])
def test_what_the_config_itself_refuses_is_told_with_its_place(of):
    wrong = {"game": "breakout", "lives": 0}
    given, more = (wrong, {}) if of == "settings" else ({"game": "x"}, {"overrides": wrong})
    text = refusal(given, Required, **more)
    assert text.startswith("minatar.toml: methods.dqn.config: ")
    assert "lives must be positive; got 0" in text


def test_a_config_that_is_no_dataclass_is_refused():
    assert "dict is not a dataclass" in refusal({}, dict)


@pytest.mark.parametrize(
    ("schedule", "start", "period"),
    [(1.0, 5000, 1000), (0.05, 250, 50), (0.033, 165, 33), (2.0, 10_000, 2000), (1e-6, 1, 1)],
)
def test_step_counts_are_scaled_and_never_fall_below_one(schedule, start, period):
    scaled = read({}, schedule=schedule)
    assert scaled == Settings(learning_starts=start, target_sync_period=period)
    assert isinstance(scaled.learning_starts, int)


def test_a_table_holds_plain_json_values_and_reads_back_to_the_same_config():
    config = Settings(learning_rate=0.1 + 0.2, hidden=(3, 4), dueling=True)
    table = as_table(config)
    assert (table, table["hidden"]) == (json.loads(json.dumps(table)), [3, 4])
    assert (list(table), read(table)) == (list(Settings.__dataclass_fields__), config)
