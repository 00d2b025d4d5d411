"""Features of emoji and of ImageNet, on small files made here, and their making by an encoder."""

import io
import json
import tarfile

import numpy as np
import pytest
import torch
from uqbench_predictive import make_features
from uqbench_predictive.baselines.deep_ensemble import DeepEnsemble, DeepEnsembleConfig
from uqbench_predictive.baselines.further_networks import FurtherNetworks, FurtherNetworksConfig
from uqbench_predictive.baselines.mc_dropout import MCDropout, MCDropoutConfig
from uqbench_predictive.networks.learning import Dropout
from uqbench_predictive.problems import frozen, imagenet
from uqbench_predictive.problems.frozen import Frozen, FrozenConfig
from uqbench_predictive.problems.idx import DataError, MissingError
from uqbench_predictive.problems.image_files import VARIABLE
from uqbench_predictive.problems.imagenet import ImageNet, ImageNetConfig
from uqbench_predictive.uncertainty import setting_b

from uqbench.estimator import PredictiveUncertainty
from uqbench.testing.worlds import asked_once

GROUP = np.where(np.arange(80) < 30, np.arange(80) // 3, np.arange(80))
"""Three emoji of a base, whatever their categories, and others by themselves."""
FOREIGN = [frozen.NEAR] * 8 + [frozen.FAR] * 12
CATEGORY = np.array([frozen.KNOWN[i % 6] for i in range(60)] + FOREIGN)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Features whose first number is the emoji's, of the other vendor plus a half; an encoder's
    are its number more, and a corruption's its strength times a tenth."""
    google = np.random.default_rng(0).normal(size=(80, 1_280)).astype(np.float32)
    google[:, 0] = np.arange(80)
    (tmp_path / "emoji").mkdir()
    for encoder in range(3):
        own = google + encoder
        arrays = {name: own + 0.1 * k for k, name in enumerate(frozen.SHIFTED, 1)}
        arrays |= {"google": own, "twitter": own + 0.5, "category": CATEGORY, "group": GROUP}
        np.savez(tmp_path / frozen.FEATURES.format(encoder), **arrays)
    frozen.features_of.cache_clear()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for name, size in {"TRAINED": 22, "VALIDATED": 6, "TESTED": 12}.items():
        monkeypatch.setattr(frozen, name, size)
    return tmp_path


def test_the_parts_are_apart_and_the_other_vendor_draws_the_same(folder):
    task = Frozen(FrozenConfig())
    data, sets = task.data([3, 4]), task.evaluation_sets([3, 4])
    assert data.validation is not None
    for lane in (0, 1):
        x = data.inputs[lane]
        assert x.mean(0).abs().max() < 1e-5
        assert (x.std(0, correction=0) - 1).abs().max() < 2e-3
        every = torch.cat([x, data.validation.inputs[lane], sets["test"].inputs[lane]])[:, 0]
        assert len(every.unique()) == 40
        apart = sets["corrupted"].inputs[lane] - sets["test"].inputs[lane]
        assert (apart.std(0) < 1e-5).all()
        assert (apart.mean(0) > 0).all()
    assert torch.equal(sets["corrupted"].targets, sets["test"].targets)
    steps = [(sets[name].inputs - sets["test"].inputs)[..., 1:].mean() for name in frozen.SHIFTED]
    assert torch.stack(steps).div(steps[0]).tolist() == pytest.approx([1, 2, 3, 4, 5], rel=1e-4)
    assert torch.equal(sets["strength-5"].targets, sets["test"].targets)
    assert sets["near"].inputs.shape == (2, 8, 1_280)
    assert sets["far"].inputs.shape == (2, 12, 1_280)
    assert torch.equal(task.data([4]).inputs[0], data.inputs[1])


def test_encoders_stand_one_after_the_other_and_split_alike(folder):
    one, three = Frozen(FrozenConfig()), Frozen(FrozenConfig(encoders=3))
    assert three.inputs == (3 * 1_280,)
    seen = three.data([3]).inputs
    assert torch.equal(seen[..., :1_280], one.data([3]).inputs)
    # an encoder's constant goes with the mean
    assert torch.allclose(seen[..., :1_280], seen[..., -1_280:], atol=1e-4)
    with pytest.raises(ValueError, match="encoders must be 1 to 3, got 4"):
        FrozenConfig(encoders=4)


def test_targets_are_the_categories_of_the_drawings(folder, monkeypatch):
    task = Frozen(FrozenConfig())
    data, category = task.data([0]), frozen.features_of(folder).category
    known, own = data.inputs[0, :, 0].argsort(), np.sort(task._split(0)[2])
    # features are the emoji's number, scaled
    assert (data.targets[0][known].numpy() == np.searchsorted(frozen.KNOWN, category[own])).all()


def test_a_base_is_on_one_side_and_emoji_that_settings_are_chosen_with_on_neither(folder):
    compared, choosing = Frozen(FrozenConfig()), Frozen(FrozenConfig(choosing=True))
    assert len(choosing.data([0]).inputs[0]) == 11
    assert [*choosing.evaluation_sets([0])] == ["test"]
    every = [{*np.concatenate(task._split(s)).tolist()} for task in (compared, choosing)
             for s in range(20)]  # fmt: skip
    third = set.union(*every[20:])
    assert len(third) <= 20
    assert not third & set.union(*every[:20])
    for seed in range(20):
        bases = [{*GROUP[part].tolist()} for part in compared._split(seed)]
        assert sum(map(len, bases)) == len(set.union(*bases))
        assert {*compared.data([seed]).groups.flatten().tolist()} == bases[2]


def test_each_emoji_by_itself_has_its_base_on_both_sides(folder):
    """As splits were."""
    before = Frozen(FrozenConfig(apart="emoji"))
    data, sets = before.data(range(20)), before.evaluation_sets(range(20))
    shared = [np.isin(b, a).mean() for a, b in zip(data.groups, sets["test"].groups, strict=True)]
    assert np.mean(shared) > 0.2


def test_a_base_has_so_many_emoji_at_most_the_first_of_them():
    assert frozen.few_a_group(np.arange(1, 9), np.arange(9) // 4, 2).tolist() == [1, 2, 4, 5, 8]


def test_groups_that_fill_no_part_are_refused():
    with pytest.raises(ValueError, match="groups that fill 4 of 9 rows, 1 are left"):
        frozen.by_group(np.arange(9), np.arange(9) // 3, [4], "any")


ALIKE = [
    (("1F468-200D-1F33E", "1F469-200D-1F33E", "1F9D1-1F3FB-200D-1F33E"), "person-role"),
    (("1F6B6", "1F6B6-200D-2642-FE0F", "1F6B6-200D-2640-FE0F-200D-27A1-FE0F"), "activity"),
    (("1F550", "1F55B", "1F567"), "time"),
    (("1F468", "1F469-200D-1F9B0", "1F466"), "person"),
    (("2764-FE0F", "1F499"), "heart"),
    (("1F43B", "1F43B-200D-2744-FE0F"), "animal-mammal"),
]


@pytest.mark.parametrize(("alike", "subcategory"), ALIKE)
def test_emoji_that_share_a_drawing_have_one_base(alike, subcategory):
    assert len({make_features.base(one, subcategory) for one in alike}) == 1


def test_other_roles_and_other_objects_have_other_bases():
    every = ("1F468-200D-1F33E", "1F468-200D-1F373", "1F468", "1F33E", "1F373", "2640-FE0F")
    assert len({make_features.base(one, "") for one in every}) == len(every)


def test_errors_say_what_is_missing_or_wrong(folder):
    file, again = folder / frozen.FEATURES.format(0), r"python -m uqbench_predictive\.make_features"
    file.unlink()
    with pytest.raises(MissingError, match=again):
        frozen.features_of(folder)
    arrays = dict.fromkeys(("google", "twitter", *frozen.SHIFTED), np.zeros((2, 3)))
    arrays |= {"category": CATEGORY, "group": GROUP}
    wrong = {"": r"expected features \[N, 1280\]", "strength-4": rf"has no strength-4; .*{again}"}
    for without, said in wrong.items():
        np.savez(file, **{name: of for name, of in arrays.items() if name != without})
        with pytest.raises(DataError, match=said):
            frozen.features_of(folder)


class Mean(torch.nn.Module):
    """An encoder whose features are the mean of a picture, 1,280 times."""

    def extract_features(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean((1, 2, 3))[:, None, None, None].expand(-1, 1_280, 3, 3)


def package(vendor: str, gray: int) -> bytes:
    """Two drawings, of which one is transparent and so white, and the first once more."""
    image = pytest.importorskip("PIL.Image")
    opaque = (gray, gray, gray, 255)
    colours = {"a.png": opaque, "b.png": (0, 0, 0, 0), "again.png": opaque}
    both, one = ({"has_img_google": True, "has_img_twitter": twitter} for twitter in (True, False))
    near = {"category": frozen.NEAR, "subcategory": "", **both}
    emoji = [{"image": name, "unified": f"1F4{k}1", **near} for k, name in enumerate(colours)]
    emoji.append({"image": "c.png", "category": frozen.FAR, **one})
    contents = {"package/emoji.json": json.dumps(emoji).encode()}
    for name, colour in colours.items():
        image.new("RGBA", (64, 64), colour).save(png := io.BytesIO(), "PNG")
        contents[f"package/img/{vendor}/64/{name}"] = png.getvalue()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        for name, data in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def test_features_are_the_encoders_of_drawings_on_white(tmp_path):
    (tmp_path / "emoji").mkdir()
    files = {"google": package("google", 51), "twitter": package("twitter", 204)}
    (path,) = make_features.write(tmp_path, [Mean()], files)
    frozen.features_of.cache_clear()
    found = frozen.features_of(tmp_path)
    assert path == tmp_path / frozen.FEATURES.format(0)
    assert found.category.tolist() == [frozen.NEAR, frozen.NEAR]
    scaled = [(gray - 0.498) / 0.502 for gray in (0.2, 1.0, 0.8, 1.0)]
    assert found.drawings["google"][:, 7].tolist() == pytest.approx(scaled[:2], abs=1e-5)
    assert found.drawings["twitter"][:, 0].tolist() == pytest.approx(scaled[2:], abs=1e-5)
    assert found.drawings["strength-5"].shape == (2, 1_280)


CPU = torch.device("cpu")


@pytest.mark.parametrize("against", ["ood", "adversarial", "errors"])
def test_estimators_go_through_imagenets_features(features, against):
    held = features()
    task, seeds = ImageNet(ImageNetConfig(against=against, points=12)), [0, 1]
    logits = held["test_features"] @ held["weight"] + held["bias"]
    inputs = torch.from_numpy(held["test_features"])[None].expand(2, -1, -1)
    predicted = task.reference_model(seeds).log_probs(inputs)
    expected = torch.from_numpy(logits).double().log_softmax(-1)
    assert torch.allclose(predicted[1], expected, atol=1e-5)
    for kind, config in (
        (DeepEnsemble, DeepEnsembleConfig(hidden=(), members=2, batch_size=10)),
        (FurtherNetworks, FurtherNetworksConfig()),
        (MCDropout, MCDropoutConfig(passes=8, trains=False)),
    ):
        estimator = kind(task.problem, seeds, config, CPU)
        estimator.fit(task.data(seeds), task.reference_model(seeds), steps=2)
        scores = task.score(seeds, asked_once(task, seeds, estimator.predict))
        assert all(score.shape == (2,) and score.isfinite().all() for score in scores.values())


def test_dropping_stored_features_is_dropout_before_the_last_layer(features):
    held, task = features(networks=False), ImageNet(ImageNetConfig(points=12))
    config = MCDropoutConfig(passes=3, probability=0.5, trains=False)
    estimator = MCDropout(task.problem, [4], config, CPU)
    reference = task.reference_model([4])
    estimator.fit(task.data([4]), reference, steps=1)
    inputs = torch.from_numpy(held["test_features"])[None]
    drop = Dropout(0.5, estimator.trainer.generators("passes"))
    weight, bias = (torch.from_numpy(held[name]) for name in ("weight", "bias"))
    passes = torch.stack([drop(inputs) @ weight + bias for _ in range(3)]).double().log_softmax(-1)
    expected = setting_b(reference.log_probs(inputs), passes).epistemic
    assert torch.allclose(estimator.predict(inputs).epistemic, expected, atol=1e-5)


def test_errors_are_those_of_the_reference_model(features):
    held = features(networks=False)
    task = ImageNet(ImageNetConfig(against="errors", points=12))
    wrong = (held["test_features"] @ held["weight"] + held["bias"]).argmax(1) != held["test_labels"]
    by_features = dict(zip(map(bytes, held["test_features"]), wrong, strict=True))

    def oracle(inputs: torch.Tensor) -> PredictiveUncertainty:
        each = [[float(by_features[bytes(r.numpy())]) for r in rows] for rows in inputs]
        predicted = torch.tensor(each)
        probs = torch.full((*predicted.shape, 4), 1 / 4)
        return PredictiveUncertainty(predicted, 0 * predicted, predicted, probs, "nats")

    assert task.score([0], asked_once(task, [0], oracle))["auroc"].tolist() == [1.0]


WRONG = [
    ({"bias": None}, "has no array 'bias'; expected weight, bias"),
    ({"bias": np.zeros(5)}, r"bias has shape \(5,\), expected \[C\] with C = 4"),
    ({"test_labels": np.zeros((12, 1))}, r"expected \[m\]"),
    ({"networks_adv": None}, "has no array 'networks_adv'"),
    ({"ood_features": np.zeros((9, 6))}, r"expected \[k, H\] with H = 5"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_errors_name_what_is_wrong_with_the_features(features, change, message):
    features(**change)
    with pytest.raises(DataError, match=message):
        ImageNet(ImageNetConfig())


def test_without_the_features_the_error_says_how_to_name_them(monkeypatch):
    monkeypatch.delenv(imagenet.VARIABLE, raising=False)
    with pytest.raises(DataError, match=r"UQBENCH_IMAGENET to a \.npz file"):
        ImageNet(ImageNetConfig())


def test_further_networks_are_found_by_the_images_features(features):
    held, task = features(), ImageNet(ImageNetConfig())
    estimator = FurtherNetworks(task.problem, [0], FurtherNetworksConfig(), CPU)
    estimator.fit(task.data([0]), None, steps=1)
    said = estimator.predict(torch.from_numpy(held["ood_features"][[4, 2]])[None])
    members = torch.from_numpy(held["networks_ood"]).double().softmax(-1).mean(0)[[4, 2]]
    assert torch.allclose(said.probs[0], members)


def test_a_file_without_further_networks_is_rejected(features):
    features(networks=False)
    with pytest.raises(DataError, match="no logits of further networks"):
        FurtherNetworks(ImageNet(ImageNetConfig()), [0], FurtherNetworksConfig(), CPU)
