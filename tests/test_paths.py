"""Where files live: under one folder if asked, else where the system keeps such files."""

from __future__ import annotations

import dataclasses
import stat
from pathlib import Path

import pytest

from chatkv.paths import Paths, locate, private_folder


@pytest.fixture(autouse=True)
def no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CHATKV_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)


def every_path(paths: Paths) -> list[Path]:
    return [getattr(paths, field.name) for field in dataclasses.fields(paths)]


def test_one_folder_holds_everything(tmp_path: Path) -> None:
    paths = locate(str(tmp_path))
    assert all(path.parent == tmp_path for path in every_path(paths))
    assert len(set(every_path(paths))) == 4
    assert paths.config_file.name == "config.toml"


def test_the_argument_wins_over_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATKV_HOME", str(tmp_path / "env"))
    assert locate().database.parent == tmp_path / "env"
    assert locate(str(tmp_path / "arg")).database.parent == tmp_path / "arg"
    assert locate("") == locate()


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usual = locate()
    monkeypatch.setenv("CHATKV_HOME", "")
    assert locate() == usual
    assert all(path.is_relative_to(tmp_path / "home") for path in every_path(usual))
    assert all("chatkv" in path.parts or "chatkv" in path.parent.parts for path in every_path(usual))


def test_a_relative_folder_stays_where_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    paths = locate("here")
    monkeypatch.chdir("/")
    assert paths.database == tmp_path / "here" / "chatkv.db"


@pytest.mark.parametrize(
    ("text", "folder"), [("~", "home"), ("~/x", "home/x"), ("~no-such-user", "~no-such-user")]
)
def test_tildes_are_expanded_where_they_mean_something(
    text: str, folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate(text).models == tmp_path / folder / "models"


def test_nothing_is_created_by_asking(tmp_path: Path) -> None:
    locate(str(tmp_path / "new"))
    locate()
    assert not list(tmp_path.iterdir())


def test_a_private_folder_is_private_and_may_exist(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "a" / "b")
    assert folder == tmp_path / "a" / "b"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    assert stat.S_IMODE(private_folder(folder).stat().st_mode) == 0o755, "a person's own choice stays"
