"""What is asked where the truth is known is asked of a trained agent later as it is at once."""

import json

import uqbench


def test_judged_later_an_agent_has_the_answers_and_visits_of_one_judged_at_once(tmp_path):
    suite = "drawn-worlds"
    said = {"methods": "psrl", "seeds": 2, "workers": 1, "progress": False}
    uqbench.run(suite, "smoke", **said, out=tmp_path / "at-once")
    uqbench.run(suite, "smoke", **said, out=tmp_path / "later", train_only=True)
    assert not list((tmp_path / "later").rglob("metrics.parquet"))
    uqbench.run(suite, "smoke", **said, out=tmp_path / "later", judge=True)
    records = sorted((tmp_path / "at-once").glob("*/*/*/*/*/run.json"))
    assert records
    for path in records:
        other = tmp_path / "later" / path.relative_to(tmp_path / "at-once")
        own, theirs = json.loads(path.read_text()), json.loads(other.read_text())
        assert own["digests"] == theirs["digests"]
        assert "predictions.parquet" in own["digests"]
