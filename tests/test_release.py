"""What an index and a code host are given: metadata, addresses, workflows."""

import re
import sys
import tomllib
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
PROJECTS = [ROOT / "pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
sys.path.insert(0, str(ROOT / "tools"))
from addresses import with_addresses  # noqa: E402

HOST = "https://example.org/o/uqbench"


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.parent.name)
def test_a_package_says_who_made_it_and_for_what(project: Path) -> None:
    about = tomllib.loads(project.read_text("utf-8"))["project"]
    assert about["authors"] == [{"name": "the uqbench contributors"}]
    assert "Typing :: Typed" in about["classifiers"]
    assert list(project.parent.rglob("py.typed")) or project.parent.name == "uqbench-boards"
    assert (project.parent / "LICENSE").is_file()
    assert about["version"] == tomllib.loads(PROJECTS[0].read_text("utf-8"))["project"]["version"]


def test_extras_name_packages_of_this_tree() -> None:
    about = tomllib.loads(PROJECTS[0].read_text("utf-8"))["project"]
    own = {path.parent.name for path in PROJECTS[1:]}
    named = {re.split("[>=[]", x)[0] for of in about["optional-dependencies"].values() for x in of}
    assert {name for name in named if name.startswith("uqbench-")} <= own


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.parent.name)
def test_no_link_of_a_readme_is_dead_on_an_index(project: Path) -> None:
    text = project.with_name("README.md").read_text("utf-8")
    folder = PurePosixPath(project.parent.relative_to(ROOT).as_posix())
    for target in re.findall(r"\]\(([^)\s]+)\)", with_addresses(text, HOST, folder)):
        assert target.startswith(("https://", "http://", "#", "mailto:")), target
        if path := re.fullmatch(rf"{HOST}/(?:raw|blob)/main/([^#]*)(?:#.*)?", target):
            assert (ROOT / path[1]).exists(), target


def test_addresses_keep_the_place_and_tell_pictures_from_pages() -> None:
    text = "[![Board](a/b.svg)](../c.md#place) and [x](#here), [y](https://other.org/z)"
    expected = (
        f"[![Board]({HOST}/raw/main/plugins/p/a/b.svg)]({HOST}/blob/main/plugins/c.md#place) "
        "and [x](#here), [y](https://other.org/z)"
    )
    assert with_addresses(text, HOST, PurePosixPath("plugins/p")) == expected


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_the_rights_that_a_job_names_and_actions_by_commit(workflow: Path) -> None:
    text = workflow.read_text("utf-8")
    assert "\npermissions: {}\n" in text
    actions = re.findall(r"uses: (\S+)", text)
    assert actions
    assert [a for a in actions if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", a)] == []
    jobs = text.partition("\njobs:\n")[2]
    assert len(re.findall(r"^  [\w-]+:$", jobs, re.M)) == len(
        re.findall("^    permissions:$", jobs, re.M)
    )


def test_each_guarantee_of_the_security_page_has_its_test() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    named = re.findall(r"`([\w/-]+\.py)`", text)
    assert len(named) >= 7
    places = (ROOT / "tests", ROOT)
    assert [name for name in named if not any((at / name).exists() for at in places)] == []
    assert len(text.split()) <= 600
