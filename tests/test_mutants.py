"""Mutants: one change each, and those are told that tests do not see."""

import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "mutants.py"
sys.path.insert(0, str(TOOL.parent))
from mutants import faces, imports, main, mutants  # noqa: E402

MODULE = '''"""A module of 3 parts."""
LEVEL: tuple[int, "x < 2"] = 5


def level(x: int, y: float = 0) -> int:
    print(f"{x * 2}")
    return max(x.clone(), y) * LEVEL if x < y else None
'''


def test_a_mutant_is_one_change_and_none_is_of_annotations_and_messages():
    source = MODULE.encode()
    found = {(one.before, one.after) for one in mutants(Path("a.py"), source)}
    assert {before for before, _ in found} == {
        "5", "return max(x.clone(), y) * LEVEL if x < y else None", "max(x.clone(), y) * LEVEL",
        "max(x.clone(), y)", "x.clone()", "x < y"}  # fmt: skip
    assert {("5", "(5 * 10)"), ("x < y", "(x >= y)"), ("x.clone()", "(x)")} <= found
    assert ("max(x.clone(), y) * LEVEL", "(max(x.clone(), y))") in found


FILE = "plugins/p/src/zz_mutated/limits.py"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A repository with one module, of two constants, and a test of one of them."""
    module, test = tmp_path / FILE, tmp_path / "tests" / "test_limits.py"
    module.parent.mkdir(parents=True)
    (module.parent / "__init__.py").write_text('"""A package."""\n')
    module.write_text('"""Limits."""\n\nSEEN, UNSEEN = 3, 4\n')
    test.parent.mkdir()
    test.write_text(
        "from zz_mutated import limits\n\n\ndef test_it():\n    assert limits.SEEN == 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["mutants", FILE])
    return tmp_path


def test_what_no_test_sees_survives_and_the_files_stay_as_they_are(package, capsys):
    main(package)
    assert capsys.readouterr().out.splitlines() == [
        f"{FILE}: tests/test_limits.py",
        "  found    3: 3  →  (3 * 10)",
        "  SURVIVES 3: 4  →  (4 * 10)",
        "1 of 2 mutants survive the tests that import their module.",
    ]
    assert (package / FILE).read_text().endswith("SEEN, UNSEEN = 3, 4\n")


@pytest.mark.parametrize(
    ("init", "test"),
    [
        ("from zz_mutated.limits import SEEN as LIMIT", "from zz_mutated import LIMIT"),
        ("from zz_mutated.limits import SEEN", "import zz_mutated; zz_mutated.SEEN"),
        ('__getattr__ = face(__name__, limits="SEEN,UNSEEN")', "from zz_mutated import SEEN"),
        ('MODULES = {n: m for m, ns in {"zz_mutated.limits": ("SEEN",)}.items() for n in ns}',
         "from zz_mutated import SEEN"),
    ],
)  # fmt: skip
def test_a_test_is_found_through_each_form_of_a_face(package, init, test):
    (package / "plugins" / "p" / "src" / "zz_mutated" / "__init__.py").write_text(init)
    file = package / "tests" / "test_limits.py"
    file.write_text(test)
    names = faces(package, Path(FILE))
    assert imports(file, names)
    file.write_text(test.replace("SEEN", "OTHER").replace("LIMIT", "OTHER"))
    assert not imports(file, names)


def test_a_face_of_this_repository_gives_a_name_of_each_kind():
    root = TOOL.parents[1]
    assert faces(root, Path("uqbench/boards/headline.py")) == {"uqbench.boards.Told"}
    assert faces(root, Path("uqbench/suites/variants.py")) == {"uqbench.grid"}
    compare = Path("plugins/uqbench-compare/src/uqbench_compare/compare.py")
    assert faces(root, compare) == {"uqbench.Compared", "uqbench.compare"}


def test_tests_that_fail_without_any_change_tell_nothing(package, monkeypatch, capsys):
    (package / "tests" / "test_limits.py").write_text("import zz_mutated.limits\n\nassert False\n")
    with pytest.raises(SystemExit, match="fail without any change"):
        main(package)
    assert "SURVIVES" not in capsys.readouterr().out
