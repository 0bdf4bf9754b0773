"""Every way to get a setting wrong, and what one is told: file, line, key, and the way out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from chatkv.config import Config, changed, flatten, keys, load_config
from chatkv.config.convert import _RANGES
from chatkv.errors import ConfigError
from chatkv.paths import Paths, locate


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return locate(str(tmp_path))


def from_file(paths: Paths, text: str | bytes) -> Config:
    paths.config_file.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_config(paths=paths, environ={})


def from_env(**variables: str) -> Config:
    return load_config(paths=locate("/nonexistent"), environ=variables)


def from_flags(**overrides: Any) -> Config:
    return load_config(overrides, paths=locate("/nonexistent"), environ={})


@pytest.mark.parametrize(
    ("text", "place", "says", "hint"),
    [
        ('modle = "x"', "line 1: modle", "no such setting", "`model`"),
        (
            "\n\n[sampling]\ntemprature = 1",
            "line 4: sampling.temprature",
            "no such",
            "`sampling.temperature`",
        ),
        ("top_k = 3", "line 1: top_k", "no such setting", "`sampling.top_k`"),
        ("[chat]\ntop_k = 3", "line 2: chat.top_k", "no such setting", "`sampling.top_k`"),
        ("zzz = 1", "line 1: zzz", "no such setting", "chatkv config show"),
        ("[samplin]\ntop_k = 1", "line 1: samplin", "no such", "`sampling`"),
        ("[zzz]", "line 1: zzz", "no such setting", "chatkv config show"),
        ("sampling = 3", "line 1: sampling", "is a section", "[sampling]"),
        ("[[sampling]]\ntop_k = 1", "sampling", "is a section", "[sampling]"),
        ("[model]", "line 1: model", "is a setting", "model = "),
        ("[model]\nname = 1", "line 1: model", "is a setting", "model = "),
        ("[load.device]\nx = 1", "load.device", "a string", "config init"),
        ("model = 3", "line 1: model", "a string", "config init"),
        ('[load]\nthreads = "4"', "line 2: load.threads", "a whole number", "config init"),
        ("[load]\nthreads = 4.0", "load.threads", "a whole number", "config init"),
        ("[load]\nthreads = true", "load.threads", "a whole number", "config init"),
        ("[chat]\nthinking = 1", "chat.thinking", "true or false", "config init"),
        ('[chat]\nthinking = "yes"', "chat.thinking", "true or false", "config init"),
        ("[sampling]\ntemperature = false", "sampling.temperature", "a number", "config init"),
        ('[sampling]\nstop = "x"', "sampling.stop", "a list of strings", "config init"),
        ('[sampling]\nstop = ["x", 1]', "sampling.stop", "a list of strings", "config init"),
        (f"[sampling]\ntemperature = 1{'0' * 400}", "sampling.temperature", "a number", "config init"),
    ],
    ids=lambda text: text[:30],
)
def test_a_wrong_file_names_file_line_key_and_the_way_out(
    paths: Paths, text: str, place: str, says: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        from_file(paths, text)
    message = caught.value.message
    assert message.startswith(str(paths.config_file))
    assert place in message
    assert says in message
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('model = "x"\n[load\n', "line 2"),
        ("a = 1\na = 2\n", "line 2"),
        ("model = 'x", "end of document"),
        (f"model = 1{'0' * 5000}", "digits"),
        ("model = " + "[" * 100_000, "recursion"),
    ],
    ids=["bracket", "twice", "quote", "digits", "depth"],
)
def test_bad_toml_names_file_and_line(paths: Paths, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match="not valid TOML") as caught:
        from_file(paths, text)
    assert str(paths.config_file) in caught.value.message
    assert says in caught.value.message


def test_a_file_that_is_not_utf8(paths: Paths) -> None:
    with pytest.raises(ConfigError, match=r"Cannot read .*config\.toml.*utf-8") as caught:
        from_file(paths, 'model = "käse"'.encode("latin-1"))
    assert "UTF-8" in caught.value.hint


def test_a_file_that_cannot_be_read(paths: Paths) -> None:
    paths.config_file.mkdir()
    with pytest.raises(ConfigError, match=r"Cannot read .*config\.toml"):
        load_config(paths=paths, environ={})


def test_a_wrong_file_is_told_even_where_a_flag_would_win(paths: Paths) -> None:
    paths.config_file.write_text("[load]\nthreads = 5000")
    with pytest.raises(ConfigError, match=r"line 2: load\.threads = 5000: must lie between 0 and 4096"):
        load_config({"load.threads": 1}, paths=paths, environ={})


@pytest.mark.parametrize(
    ("name", "text", "says", "hint"),
    [
        ("CHATKV_MODLE", "x", "$CHATKV_MODLE", "`CHATKV_MODEL`"),
        ("CHATKV_SAMPLING_TEMPRATURE", "1", "$CHATKV_SAMPLING_TEMPRATURE", "`CHATKV_SAMPLING_TEMPERATURE`"),
        ("CHATKV_SAMPLING", "1", "$CHATKV_SAMPLING", "`CHATKV_SAMPLING_"),
        ("CHATKV_QQ", "1", "$CHATKV_QQ", "config show"),
        ("CHATKV_SAMPLING_SEED", "", "$CHATKV_SAMPLING_SEED", "config init"),
        ("CHATKV_SAMPLING_TEMPERATURE", "hot", "$CHATKV_SAMPLING_TEMPERATURE = 'hot': expected a number", ""),
        ("CHATKV_LOAD_THREADS", "1.5", "expected a whole number", ""),
        ("CHATKV_CHAT_THINKING", "maybe", "expected true or false", ""),
        ("CHATKV_SAMPLING_STOP", "[1]", "expected a list of strings", ""),
        ("CHATKV_SAMPLING_STOP", "[oops", "expected a list of strings", ""),
        ("CHATKV_LOAD_DTYPE", "int8", "must be one of auto, bfloat16", ""),
    ],
)
def test_a_wrong_variable_is_named(name: str, text: str, says: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_env(**{name: text})
    assert says in caught.value.message
    assert hint in caught.value.hint


def test_variables_that_are_no_settings_pass() -> None:
    assert from_env(CHATKV_HOME="/x", CHATKV_TEST_CACHE="/y", OTHER="z") == Config()


@pytest.mark.parametrize("key", ["sampling.temprature", "temperature", "nothing.like.it"])
def test_a_wrong_key_on_the_command_line_is_named(key: str) -> None:
    with pytest.raises(ConfigError, match=f"Command line: {re.escape(key)}: there is no such setting"):
        from_flags(**{key: "1"})


@pytest.mark.parametrize("key", list(_RANGES))
def test_ranges_hold_at_both_ends(key: str) -> None:
    low, high = _RANGES[key]
    whole = isinstance(low, int) and "int" in str(keys()[key])
    for value in (low, high):
        assert flatten(from_flags(**{key: int(value) if whole else float(value)}))[key] == value
    for value in (-1 if low == 0 else low / 2 if not whole else low - 1, high + 1, -(10**30)):
        with pytest.raises(ConfigError, match=r"must lie between"):
            from_flags(**{key: int(value) if whole else float(value)})


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_numbers_that_are_none_are_out_of_range(text: str) -> None:
    with pytest.raises(ConfigError, match="must lie between"):
        from_env(CHATKV_SAMPLING_TEMPERATURE=text)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("sampling.temprature", 1, "no such setting"),
        ("sampling.temperature", -1, "must lie between"),
        ("sampling.temperature", True, "a number"),
        ("sampling.temperature", None, "a number"),
        ("ui.sidebar", 3, "true or false"),
        ("sampling", 3, "no such setting"),
    ],
)
def test_changed_checks_like_any_other_source(key: str, value: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        changed(Config(), key, value)
