"""Text on which two tokenizers must agree before one may stand in for the other: data and a generator."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXT = """The quick brown fox can't jump over 13 lazy dogs; they've won 1,234.50 € in 2024 (it's 07:45).
We'll see: I'M SURE YOU'RE RIGHT, isn't it? e.g. foo@example.org, https://example.org/a?b=c&d=%20#top
Größe, façade, naïve, Ærø, żółć, İstanbul, ﬁne ligatures, x² + y³ ≠ ½, №5, Ⅷ, ١٢٣, १२३, 三百.
Привет, мир! Γειά σου Κόσμε. שלום עולם. مرحبا بالعالم. नमस्ते दुनिया। สวัสดีชาวโลก. გამარჯობა. Բարեւ։
你好，世界！今天天气很好。こんにちは、世界。カタカナ、ひらがな。안녕하세요 세계. Chữ Việt có dấu.
e\u0301a\u0308n\u0303 combining; zero\u200bwidth; soft\u00adhyphen; no\u00a0break; \ufeffmark; \u2028line
😀👍🏽👩‍👩‍👧‍👦🇫🇷 emoji ✓ → ∀x∈ℝ: ⌈x⌉ … “quotes” ‘single’ — dash – dash
def f(x, *, y=0x1F):\n    if x >= 10_000:\n\t\treturn {"a": [1, 2, 3], 'b': None}\n    else:\n        pass
<div class="a b">\r\n  <p>&nbsp;text</p>\r\n</div>\n\n\n   indented   \n \t mixed\t\t tabs   \n
{{ 7*7 }} {% if x %} $HOME `ls -la | wc -l` \\n \\u00e9 ~!@#$%^&*()_+-=[]{};:'",.<>/?
# Title\n\n1. one\n2. two\n   - nested\n\n| a | b |\n|---|---|\n| 1 | 22 | 333 | 4444 | 55555 | 1234567890
"""

_ALPHABET = (
    " \n\t\r 0123456789abcdefgXYZ'\"-_.,:;!?()[]{}<>/\\|@#$%^&*+=~` éßñøжλאبनไ中文かカ한😀\u0301\u200b\u00a0"
)


def sample_texts(words: Sequence[bytes], *, seed: int = 20) -> list[str]:
    """Prose, seeded random strings, and words of the vocabulary itself, alone and joined by threes."""
    dice = random.Random(seed)
    texts = [TEXT, *TEXT.split("\n"), "", " ", "\n", "  \n  ", " " * 40 + "x", "\n" * 12, "a" * 300, "9" * 50]
    texts += ["".join(dice.choices(_ALPHABET, k=dice.randint(1, 24))) for _ in range(400)]
    picked = [word.decode(errors="ignore") for word in dice.sample(words, min(len(words), 900))]
    return texts + picked[:300] + ["".join(picked[i : i + 3]) for i in range(300, len(picked), 3)]
