"""The house itself: imports flow one way, heavy libraries keep to their rooms, files are small, pages true."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "chatkv"
HEAVY = ("torch", "transformers", "textual", "sqlite3", "sqlite_utils", "tokenizers", "tiktoken", "numpy")
MODULES = sorted(HOUSE.rglob("*.py"))
SOURCES = sorted(path for room in ("chatkv", "tests", "scripts") for path in (ROOT / room).rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def python(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "CHATKV_HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=env, cwd=home, timeout=60
    )


# ── imports ──


def test_import_contracts_are_kept(tmp_path: Path) -> None:
    code = (
        "import sys; from importlinter.cli import lint_imports;"
        f"sys.exit(lint_imports(config_filename={str(ROOT / 'pyproject.toml')!r}, no_cache=True))"
    )
    done = python("-c", code, home=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Contracts: [4-9]\d* kept, 0 broken", done.stdout)


@pytest.mark.parametrize(
    "arguments",
    [[], ["--help"], ["ask", "--help"], ["config", "path"], ["--version"]],
    ids=" ".join,
)
def test_light_commands_load_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    """Without arguments: importing the command line alone."""
    code = f"""
import json, sys
import chatkv.cli.main
sys.argv[1:] = {arguments!r}
try:
    if sys.argv[1:]:
        chatkv.cli.main.main()
except SystemExit as end:
    assert not end.code
print(json.dumps(list(sys.modules)))
"""
    done = python("-c", code, home=tmp_path)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert not [name for name in loaded if name.partition(".")[0] in HEAVY]


def test_help_as_a_module_loads_nothing_heavy(tmp_path: Path) -> None:
    done = python("-X", "importtime", "-m", "chatkv", "--help", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "chatkv.cli.main" in loaded, "the list of imports is what we think it is"
    assert not [name for name in loaded if name.partition(".")[0] in HEAVY]


# ── files ──


def test_every_room_is_a_package() -> None:
    for folder in {path.parent for path in MODULES}:
        assert (folder / "__init__.py").is_file(), name_of(folder)


def test_files_stay_small() -> None:
    lengths = {name_of(path): path.read_text(encoding="utf-8").count("\n") for path in SOURCES}
    assert {name: n for name, n in lengths.items() if n > 300} == {}


def test_functions_stay_small() -> None:
    assert [(name, n) for name, n in functions(SOURCES) if n > 60] == []
    lengths = sorted(n for _, n in functions(MODULES))
    assert lengths[len(lengths) // 2] <= 9, "the median"


def test_a_module_opens_by_saying_what_it_is_for() -> None:
    opens = {path: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in MODULES}
    assert [name_of(path) for path, doc in opens.items() if not doc or doc.count("\n") > 5] == []


def functions(paths: list[Path]) -> Iterator[tuple[str, int]]:
    """Name and length in lines of every function."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                yield f"{name_of(path)}:{node.name}", node.end_lineno - node.lineno + 1


# ── documents ──

ARCHITECTURE = ROOT / "docs" / "architecture.md"


def rooms() -> set[str]:
    """Folders and modules right under chatkv/, as `cli/` and `worker.py`; what lies deeper is a room's own."""
    folders = {f"{path.relative_to(HOUSE).parts[0]}/" for path in MODULES if path.parent != HOUSE}
    return folders | {path.name for path in HOUSE.glob("*.py") if not path.name.startswith("__")}


def named_rooms(text: str) -> set[str]:
    """What `text` calls a folder or module in backquotes; a leading `chatkv/` does not matter."""
    found = re.findall(r"`(?:chatkv/)?([a-z_][a-z_0-9/]*(?:/|\.py))`", text)
    return {name for name in found if name not in ("chatkv/", "tests/", "docs/", "scripts/")}


def test_the_architecture_page_names_every_room_and_no_other() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    named = named_rooms(text)
    assert rooms() - named == set(), "rooms the page does not name"
    assert [name for name in named if not (HOUSE / name).exists()] == [], "rooms that do not exist"
    assert text.count("\n") <= 60


def test_the_readme_is_one_page() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= 120


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]], ids=" ".join
)
def test_lint_format_and_types(command: list[str]) -> None:
    """What mypy found out about the libraries is kept from run to run: it is nine tenths of its work."""
    caches = [] if command == ["mypy"] else ["--no-cache"]
    done = subprocess.run(
        [sys.executable, "-m", *command, *caches], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
