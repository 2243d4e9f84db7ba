"""What pip installs: every folder that holds modules, and the files that they read."""

import tomllib

import pytest


@pytest.fixture
def setuptools(root):
    return tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_every_folder_of_modules_is_installed(root, setuptools):
    found = set()
    for package in (root / "hdl" / "ualink", root / "sim" / "ualink_sim", root / "boards" / "ualink_boards"):
        for module in package.rglob("*.py"):
            assert (module.parent / "__init__.py").exists(), f"{module.parent} is no package"
            found.add(".".join(module.parent.relative_to(package.parent).parts))
    assert found == set(setuptools["packages"]) - {"ualink_constraints"}


def test_every_file_beside_modules_is_installed(root, setuptools):
    for name, package in (("ualink", root / "hdl" / "ualink"), ("ualink_sim", root / "sim" / "ualink_sim")):
        installed = {file for pattern in setuptools["package-data"][name] for file in package.glob(pattern)}
        left = [
            file
            for file in package.rglob("*")
            if file.is_file() and file.suffix != ".py" and "__pycache__" not in file.parts and file not in installed
        ]
        assert not left
