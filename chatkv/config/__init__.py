"""One frozen tree of settings. Defaults < config.toml < environment < flags; an unknown key is an error.

Knows nothing of what the settings do. The field docstrings' user-facing twin is `config.toml`, and a test
holds the two together.
"""

from chatkv.config.load import Origin, changed, config_file, default_toml, load_config, origins
from chatkv.config.tree import (
    LIVE_SETTINGS,
    ChatConfig,
    Config,
    LoadConfig,
    MemoryConfig,
    PrefillConfig,
    SamplingConfig,
    StoreConfig,
    UiConfig,
    flatten,
    keys,
)

__all__ = [
    "LIVE_SETTINGS",
    "ChatConfig",
    "Config",
    "LoadConfig",
    "MemoryConfig",
    "Origin",
    "PrefillConfig",
    "SamplingConfig",
    "StoreConfig",
    "UiConfig",
    "changed",
    "config_file",
    "default_toml",
    "flatten",
    "keys",
    "load_config",
    "origins",
]
