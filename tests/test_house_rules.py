"""Rules of the house on the text of the code."""

import ast
from pathlib import Path

import pytest

MOST_PARAMETERS = 5
PRODUCTS = ("hdl", "sim", "boards")


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Names of what a caller gives, by place or by name."""
    taken = function.args
    names = [argument.arg for argument in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def crowded(text: str) -> list[str]:
    """Public functions and constructors in ``text`` with more parameters than a reader keeps in mind."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    public = (node for node in functions if not node.name.startswith("_") or node.name == "__init__")
    return [f"{node.lineno}: {node.name}" for node in public if len(parameters(node)) > MOST_PARAMETERS]


@pytest.mark.parametrize("product", PRODUCTS)
def test_no_public_function_has_more_than_five_parameters(root: Path, product):
    """What belongs together is a record: a dataclass with as many fields as it needs."""
    files = sorted((root / product).rglob("*.py"))
    assert len(files) > 10
    assert [f"{path.relative_to(root)}:{found}" for path in files for found in crowded(path.read_text())] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(a, b, c, d, e): ...", []),
        ("def f(a, b, c, d, e, g): ...", ["1: f"]),
        ("async def f(a, b, c, /, d, *, e, g=1): ...", ["1: f"]),
        ("def _f(a, b, c, d, e, g): ...", []),
        ("class A:\n def __init__(self, a, b, c, d, e): ...", []),
        ("class A:\n def __init__(self, a, b, c, d, *, e, g): ...", ["2: __init__"]),
        ("class A:\n @classmethod\n def of(cls, a, b, c, d, e): ...", []),
    ],
)
def test_parameters_are_counted(text, found):
    assert crowded(text) == found


LENGTH = "UALINK_SOAK"


def test_what_is_longer_in_a_soak_is_part_of_it(root: Path):
    """A test file that asks for the soak's length has a test that ``make soak`` runs."""
    files = [path for path in (root / "tests").rglob("test_*.py") if f'get("{LENGTH}")' in path.read_text()]
    assert len(files) > 20
    assert [str(path.relative_to(root)) for path in files if "mark.soak" not in path.read_text()] == []
