"""chatkv's own two themes: quiet colours, one cool for what is kept, one warm for what is new."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="chatkv",
    primary="#82aacf",
    secondary="#8a93a5",
    accent="#e0ab6b",
    success="#93bb8c",
    warning="#e0b86b",
    error="#dd8278",
    foreground="#d8dbe2",
    background="#101318",
    surface="#171b22",
    panel="#222833",
    dark=True,
    variables={
        "footer-background": "#101318",
        "footer-key-foreground": "#82aacf",
        "footer-description-foreground": "#8a93a5",
        "scrollbar": "#2b323f",
        "scrollbar-background": "#101318",
        "scrollbar-background-hover": "#101318",
        "scrollbar-background-active": "#101318",
        "scrollbar-corner-color": "#101318",
        "border-blurred": "#2b323f",
        "block-cursor-background": "#2b3645",
        "block-cursor-foreground": "#e8ebf2",
        "block-cursor-text-style": "none",
    },
)

LIGHT = Theme(
    name="chatkv-light",
    primary="#2f5d8a",
    secondary="#666d7a",
    accent="#9a5a12",
    success="#3a7338",
    warning="#85610d",
    error="#ab342b",
    foreground="#2a2d33",
    background="#fbfaf7",
    surface="#f2f0eb",
    panel="#e6e3dc",
    dark=False,
    variables={
        "footer-background": "#fbfaf7",
        "footer-key-foreground": "#2f5d8a",
        "footer-description-foreground": "#666d7a",
        "scrollbar": "#d5d1c8",
        "scrollbar-background": "#fbfaf7",
        "scrollbar-background-hover": "#fbfaf7",
        "scrollbar-background-active": "#fbfaf7",
        "scrollbar-corner-color": "#fbfaf7",
        "border-blurred": "#d5d1c8",
        "block-cursor-background": "#d8e3ee",
        "block-cursor-foreground": "#1d2026",
        "block-cursor-text-style": "none",
    },
)

THEMES = (DARK, LIGHT)
