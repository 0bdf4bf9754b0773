"""Settings written into a person's file: the one key changes, and nothing else in the file does."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from chatkv.config import Config, default_toml, keys, load_config, origins
from chatkv.config.meaning import meanings
from chatkv.config.writing import write_setting
from chatkv.errors import ConfigError
from chatkv.paths import locate

COMMENTS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=12)
NUMBERED = ("keep_turns", "recall_tokens", "summary_tokens")


@st.composite
def files(draw: st.DrawFn) -> str:
    """A file as people write them: comments everywhere, odd spaces, some sections missing."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = [
        f"#{draw(COMMENTS)}",
        "",
        f"model{draw(st.sampled_from(['=', ' = ', '  =  ']))}'mine' #{draw(COMMENTS)}",
    ]
    for section, names in (("memory", NUMBERED), ("sampling", ("top_k", "seed")), ("ui", ())):
        if not draw(st.booleans()):
            continue
        lines += ["", f"[{section}] # {draw(COMMENTS)}"]
        for name in draw(st.permutations(names)) if names else []:
            if draw(st.booleans()):
                lines.append(
                    f"{draw(st.sampled_from(['', '  ']))}{name} = {draw(st.integers(1, 999))}   # {draw(COMMENTS)}"
                )
            if draw(st.booleans()):
                lines.append(f"# {draw(COMMENTS)}")
    return end.join(lines) + draw(st.sampled_from(["", end]))


def comments(text: str) -> list[str]:
    """All comments, in order; no value in these files holds a `#`."""
    return [line.partition("#")[2].strip() for line in text.splitlines() if "#" in line]


def without(table: dict[str, Any], key: str) -> dict[str, Any]:
    section, _, name = key.rpartition(".")
    rest = {k: {**v} if isinstance(v, dict) else v for k, v in table.items()}
    (rest.get(section, {}) if section else rest).pop(name, None)
    return {k: v for k, v in rest.items() if v != {}}


@given(
    text=files(),
    change=st.sampled_from(
        [
            ("memory.keep_turns", 7),
            ("sampling.temperature", 0.5),
            ("ui.theme", "nord"),
            ("model", "other/one"),
        ]
    ),
)
def test_one_key_changes_and_all_else_stays(
    text: str, change: tuple[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    key, value = change
    file = tmp_path_factory.mktemp("w") / "config.toml"
    file.write_bytes(text.encode())
    before = tomllib.loads(text.replace("\r\n", "\n"))
    write_setting(file, key, value)
    written = file.read_bytes().decode()
    after = tomllib.loads(written.replace("\r\n", "\n"))
    section, _, name = key.rpartition(".")
    assert (after[section] if section else after)[name] == value
    assert without(after, key) == without(before, key)
    assert comments(written) == comments(text)
    write_setting(file, key, None)
    rest = file.read_bytes().decode()
    assert without(tomllib.loads(rest.replace("\r\n", "\n")), key) == without(before, key)
    assert comments(rest) == comments(text)


def test_a_file_that_is_not_there_begins_as_the_default_one(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "config.toml"
    write_setting(file, "ui.theme", "nord")
    assert file.read_text() == default_toml().replace(
        'theme = "chatkv"            #', 'theme = "nord"              #'
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_every_setting_can_be_written_and_read_back(tmp_path: Path) -> None:
    paths = locate(str(tmp_path))
    for key, value in {
        "sampling.stop": ("a", "\nUser:"),
        "sampling.seed": 3,
        "chat.system": 'Say "yes"\nand no more.',
        "ui.sidebar": False,
        "memory.soft": 0.5,
        "keys.chat.stop": "ctrl+x",
    }.items():
        write_setting(paths.config_file, key, value)
        section, _, name = key.partition(".")
        read = getattr(load_config(paths=paths, environ={}), section)
        assert (dict(read)[name] if section == "keys" else getattr(read, name)) == value
        assert origins(paths=paths, environ={})[key] == "file"


def test_what_was_saved_meanwhile_stays_and_so_do_mode_link_and_mark(tmp_path: Path) -> None:
    real, file = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_bytes(b'\xef\xbb\xbfmodel = "mine"\r\n')
    real.chmod(0o640)
    file.symlink_to(real)
    write_setting(file, "ui.sidebar", False)
    real.write_bytes(real.read_bytes().replace(b'"mine"', b'"yours"'))
    write_setting(file, "ui.theme", "nord")
    assert file.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.read_bytes().startswith(b'\xef\xbb\xbfmodel = "yours"\r\n')
    assert load_config(paths=locate(str(tmp_path)), environ={}).ui.theme == "nord"
    assert sorted(os.listdir(tmp_path)) == ["config.toml", "dotfiles.toml"]


@pytest.mark.parametrize("text", ["model = ", "[ui]\ntheme = 'a'\n[ui]\n", "ui = 3", "a = '\x01'"])
def test_what_is_not_valid_is_told_and_left_alone(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        write_setting(file, "ui.theme", "nord")
    assert str(file) in caught.value.message
    assert "Nothing was written" in caught.value.hint
    assert file.read_text() == text
    assert os.listdir(tmp_path) == ["config.toml"]


def test_a_folder_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError):
        write_setting(tmp_path / "file" / "config.toml", "ui.theme", "nord")


def test_a_key_written_without_quotes_is_replaced(tmp_path: Path) -> None:
    paths = locate(str(tmp_path))
    paths.config_file.write_text('[keys]\nchat.stop = "f11" # mine\nchat.new = ["f11", "ctrl+n"]\n')
    assert dict(load_config(paths=paths, environ={}).keys) == {"chat.stop": "f11", "chat.new": "f11,ctrl+n"}
    write_setting(paths.config_file, "keys.chat.stop", "ctrl+x")
    assert dict(load_config(paths=paths, environ={}).keys) == {
        "chat.stop": "ctrl+x",
        "chat.new": "f11,ctrl+n",
    }


def test_every_setting_has_a_meaning_of_one_paragraph() -> None:
    assert meanings().keys() == keys().keys()
    assert all(text and "\n" not in text for text in meanings().values())
    assert meanings()["sampling.temperature"] == "0 = greedy: always the most probable token"
    assert meanings()["memory.policy"].endswith("All stay in the database and can be recalled")
    assert meanings()["model"].startswith("Which model answers:")


def test_the_document_of_the_default_file_is_its_text() -> None:
    assert tomlkit.dumps(tomlkit.parse(default_toml())) == default_toml()
    assert Config().keys == ()
