"""The layers of the configuration, the file that documents it, and every way to get it wrong."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.config import Config, changed, config_file, default_toml, flatten, keys, load_config, tree
from chatkv.config.convert import _CHOICES, _RANGES
from chatkv.paths import Paths, locate

DEFAULTS = flatten(Config())
COMMENTED = {
    "sampling.temperature": 0.7,
    "sampling.top_k": 0,
    "sampling.top_p": 0.95,
    "sampling.min_p": 0.0,
    "sampling.repetition_penalty": 1.0,
    "sampling.seed": 0,
}
"""Keys whose default is the model's own recommendation: the file shows an example that is switched off."""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return locate(str(tmp_path))


def from_file(paths: Paths, text: str | bytes) -> Config:
    paths.config_file.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_config(paths=paths, environ={})


def from_env(**variables: str) -> Config:
    return load_config(paths=locate("/nonexistent"), environ=variables)


def dotted(table: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in table.items():
        inner = value if isinstance(value, dict) else None
        found |= {name: value} if inner is None else {f"{name}.{key}": inner[key] for key in inner}
    return found


def variable(key: str) -> str:
    return "CHATKV_" + key.replace(".", "_").upper()


def toml(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(char):08x}" for char in value) + '"'
    return str(value).lower() if isinstance(value, bool) else repr(value)


def toml_file(settings: dict[str, Any]) -> str:
    lines = [f"{key} = {toml(value)}" for key, value in settings.items() if "." not in key]
    for section in tree.sections():
        lines.append(f"[{section}]")
        lines += [
            f"{key.partition('.')[2]} = {toml(value)}"
            for key, value in settings.items()
            if key.startswith(section + ".")
        ]
    return "\n".join(lines)


# ── the documented file ──


def test_the_packaged_file_is_the_repositorys() -> None:
    assert default_toml() == (Path(__file__).parents[1] / "config.toml").read_text(encoding="utf-8")


def test_the_packaged_file_loads_to_the_defaults(paths: Paths) -> None:
    assert from_file(paths, default_toml()) == Config()


def test_every_key_is_in_the_file_live_or_commented_out() -> None:
    live = dotted(tomllib.loads(default_toml()))
    switched_on = dotted(tomllib.loads(re.sub(r"(?m)^# (\w+ = )", r"\1", default_toml())))
    assert list(switched_on) == list(keys()), "same keys in the same order"
    assert {
        key: list(v) if isinstance(v, tuple) else v for key, v in DEFAULTS.items() if v is not None
    } == live
    assert {key: switched_on[key] for key in switched_on if key not in live} == COMMENTED
    assert {key for key, value in DEFAULTS.items() if value is None} == set(COMMENTED)


def test_every_key_has_a_comment_in_the_file() -> None:
    for line in default_toml().splitlines():
        if re.match(r"(# )?\w+ = ", line) and not line.startswith("model = "):
            assert re.search(r"\S  +# \S", line), line


def test_every_field_has_a_docstring() -> None:
    classes = [node for node in ast.parse(inspect.getsource(tree)).body if isinstance(node, ast.ClassDef)]
    assert len(classes) == 1 + len(tree.sections())
    for node in classes:
        assert ast.get_docstring(node), node.name
        for item, after in zip(node.body, [*node.body[1:], None], strict=True):
            if isinstance(item, ast.AnnAssign):
                documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                assert documented, f"{node.name}.{ast.unparse(item.target)}"


def test_environment_names_are_unique_and_ranges_are_for_real_keys() -> None:
    assert len({variable(key) for key in keys()}) == len(keys())
    assert not (_RANGES.keys() | _CHOICES.keys()) - keys().keys()
    for key, (low, high) in _RANGES.items():
        assert DEFAULTS[key] is None or low <= DEFAULTS[key] <= high


# ── precedence ──


def values_of(key: str) -> st.SearchStrategy[Any]:
    if key in _CHOICES:
        return st.sampled_from(_CHOICES[key])
    kind = str(keys()[key])
    if "tuple" in kind:
        return st.lists(st.text(st.characters(codec="utf-8")), max_size=3).map(tuple)
    if "bool" in kind:
        return st.booleans()
    if "str" in kind:
        return st.text(st.characters(codec="utf-8"), max_size=12)
    low, high = _RANGES[key]
    if "float" in kind:
        return st.floats(low, high)
    return st.integers(int(low), int(high))


LAYER = st.lists(st.sampled_from(list(keys())), unique=True, max_size=6).flatmap(
    lambda chosen: st.fixed_dictionaries({key: values_of(key) for key in chosen})
)


@given(file=LAYER, env=LAYER, flags=LAYER)
def test_defaults_then_file_then_environment_then_flags(
    tmp_path_factory: pytest.TempPathFactory, file: dict[str, Any], env: dict[str, Any], flags: dict[str, Any]
) -> None:
    paths = locate(str(tmp_path_factory.getbasetemp()))
    paths.config_file.write_text(toml_file(file), encoding="utf-8")
    environ = {variable(key): value if isinstance(value, str) else toml(value) for key, value in env.items()}
    config = load_config(flags, paths=paths, environ=environ)
    assert flatten(config) == {**DEFAULTS, **file, **env, **flags}


def test_a_flag_that_was_not_typed_does_not_count(paths: Paths) -> None:
    paths.config_file.write_text('model = "mine"')
    assert load_config({"model": None}, paths=paths, environ={}).model == "mine"


def test_no_file_means_defaults(paths: Paths) -> None:
    assert load_config(paths=paths, environ={"HOME": "/", "CHATKV_HOME": "/x"}) == Config()


def test_the_environment_says_where_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_text(f'model = "{name}"')
    environ = {"CHATKV_HOME": str(tmp_path / "a")}
    assert load_config(environ=environ).model == "a"
    environ["CHATKV_CONFIG"] = str(tmp_path / "b" / "config.toml")
    assert load_config(environ=environ).model == "b"
    monkeypatch.setenv("CHATKV_CONFIG", "~/c.toml")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config_file(locate(str(tmp_path))) == tmp_path / "c.toml"


def test_a_byte_order_mark_is_no_error(paths: Paths) -> None:
    assert from_file(paths, b'\xef\xbb\xbfmodel = "x"').model == "x"


# ── text as values ──


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("", ()),
        ("END", ("END",)),
        (" a, b ", (" a, b ",)),
        ("[]", ()),
        (r'["a", "\nUser:"]', ("a", "\nUser:")),
        ("  ['x']", ("x",)),
    ],
)
def test_lists_from_the_environment(text: str, stops: tuple[str, ...]) -> None:
    assert from_env(CHATKV_SAMPLING_STOP=text).sampling.stop == stops


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("1", True), ("Yes", True), ("ON", True), ("off", False), ("0", False)],
)
def test_switches_from_the_environment(text: str, value: bool) -> None:
    assert from_env(CHATKV_UI_SIDEBAR=text).ui.sidebar is value


def test_whole_numbers_are_numbers_too(paths: Paths) -> None:
    temperature = from_file(paths, "[sampling]\ntemperature = 1").sampling.temperature
    assert temperature == 1.0
    assert isinstance(temperature, float)


# ── changing one setting ──


@given(st.sampled_from(list(keys())).flatmap(lambda key: st.tuples(st.just(key), values_of(key))))
def test_changed_sets_one_key_and_no_other(pair: tuple[str, Any]) -> None:
    key, value = pair
    before = Config()
    assert flatten(changed(before, key, value)) == {**DEFAULTS, key: value}
    assert before == Config()


def test_the_database_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = locate(str(tmp_path))
    assert Config().database(paths) == paths.database
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for text, file in [
        ("x.db", "x.db"),
        ("~/y.db", "home/y.db"),
        ("~nobody-of-that-name/z", "~nobody-of-that-name/z"),
    ]:
        assert changed(Config(), "store.database", text).database(paths) == tmp_path / file
