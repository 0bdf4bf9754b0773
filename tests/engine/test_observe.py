"""Where the last queries look: found out beside the model's own arithmetic, which it leaves alone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from stretches import fed, ids
from tiny import reference_model, tiny_loaded
from torch import Tensor

from chatkv.engine import observe
from chatkv.engine.attention import attend
from chatkv.engine.local import LocalEngine
from chatkv.engine.observe import observed
from chatkv.engine.prefill import Prefiller
from chatkv.tokens import Rendered, Segment


def randoms(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def mass_of(query: Tensor, key: Tensor, *, n_layers: int = 4, layer: int = 1) -> list[float]:
    with observed(n_layers) as seen:
        observe.look(SimpleNamespace(layer_idx=layer), query, key, query.shape[-1] ** -0.5)
    return seen.mass


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    n_queries=st.integers(1, 50),
    n_old=st.integers(0, 60),
    kv_heads=st.integers(1, 3),
    group=st.integers(1, 3),
    planted=st.floats(0, 1),
)
def test_mass_adds_up_to_one_and_points_at_the_planted_key(
    n_queries: int, n_old: int, kv_heads: int, group: int, planted: float
) -> None:
    n_keys = n_old + n_queries
    at = min(int(planted * n_keys), n_old)  # every query can see it
    query, key = randoms(1, kv_heads * group, n_queries, 16), 0.1 * randoms(1, kv_heads, n_keys, 16, seed=1)
    query[..., 0] = 30.0
    key[..., 0] = 0.0
    key[:, :, at, 0] = 3.0
    mass = mass_of(query, key)
    assert len(mass) == n_keys
    assert sum(mass) == pytest.approx(1.0, abs=1e-4)
    assert min(mass) >= 0
    assert max(range(n_keys), key=mass.__getitem__) == at
    assert mass[at] > 0.9


@pytest.mark.parametrize("heads", [1, 4])
def test_no_query_sees_what_comes_after_it(heads: int) -> None:
    query, key = randoms(1, heads, 4, 8), randoms(1, 1, 10, 8, seed=1)
    before = mass_of(query[:, :, :1], key[:, :, :7])
    key[:, :, 7:] = 1e3  # would draw all attention if it were seen
    query[:, :, :] = query[:, :, :1]
    with observed(4) as seen:
        observe.look(SimpleNamespace(layer_idx=1), query[:, :, :1], key[:, :, :7], 8**-0.5)
    assert seen.mass == pytest.approx(before)
    rows = torch.tensor(mass_of(query, key))
    alone = [mass_of(query[:, :, n : n + 1], key[:, :, : 7 + n]) for n in range(4)]
    padded = torch.tensor([row + [0.0] * (10 - len(row)) for row in alone]).mean(dim=0)
    torch.testing.assert_close(rows, padded, atol=1e-5, rtol=1e-5)


def test_heads_that_share_keys_look_at_their_own() -> None:
    query, key = torch.zeros(1, 4, 1, 2), torch.zeros(1, 2, 5, 2)
    query[..., 0] = 40.0
    key[0, 0, 1, 0] = key[0, 1, 3, 0] = 2.0  # two heads of queries for each head of keys
    mass = mass_of(query, key)
    assert mass[1] == pytest.approx(0.5, abs=1e-3)
    assert mass[3] == pytest.approx(0.5, abs=1e-3)


def test_only_a_few_layers_and_the_last_queries_are_looked_at() -> None:
    query, key = randoms(1, 1, 40, 8), randoms(1, 1, 40, 8, seed=1)
    with observed(12) as seen:
        for layer in range(12):
            observe.look(SimpleNamespace(layer_idx=layer), query, key, 1.0)
        assert len(seen._mass) == 3
        observe.look(SimpleNamespace(), query, key, 1.0)
        assert len(seen._mass) == 3
    changed = query.clone()
    changed[:, :, :8] = 99.0
    assert mass_of(changed, key) == mass_of(query, key)
    changed[:, :, 8] = 99.0
    assert mass_of(changed, key) != mass_of(query, key)


def test_outside_nothing_is_collected_and_an_error_ends_it() -> None:
    query, key = randoms(1, 1, 3, 8), randoms(1, 1, 3, 8)
    observe.look(SimpleNamespace(layer_idx=1), query, key, 1.0)
    with observed(4) as seen:
        pass
    observe.look(SimpleNamespace(layer_idx=1), query, key, 1.0)
    assert seen.mass == []
    with pytest.raises(RuntimeError), observed(4) as seen:
        raise RuntimeError
    observe.look(SimpleNamespace(layer_idx=1), query, key, 1.0)
    assert seen.mass == []


@pytest.mark.parametrize("n_queries", [1, 5, 9])
def test_what_attention_computes_is_the_same_bytes(n_queries: int) -> None:
    module = torch.nn.Module()
    module.layer_idx = 1  # type: ignore[assignment]
    query, key, value = randoms(1, 4, n_queries, 8), randoms(1, 2, 9, 8, seed=1), randoms(1, 2, 9, 8, seed=2)
    plain, _ = attend(module, query, key, value, None)
    with observed(4) as seen:
        looked, _ = attend(module, query, key, value, None)
    assert torch.equal(plain, looked)
    assert len(seen.mass) == 9


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3", "phi3"])
def test_the_mass_is_that_of_the_models_own_attention(kind: str) -> None:
    """Against the weights that transformers returns. Windows and bent scores are not looked through."""
    engine, text = LocalEngine(tiny_loaded(kind)), ids(45, 5)
    prompt = Rendered(text, (Segment("user", 1, len(text)),))
    prefiller = Prefiller(engine, 64)
    list(prefiller.run(prompt, lambda: False))
    mass = prefiller.looked_at
    with torch.inference_mode():
        out = reference_model(kind)(
            input_ids=torch.tensor([text]), use_cache=False, output_attentions=True
        ).attentions
    n_layers = engine.n_layers
    looked = sorted({n_layers * part // 4 for part in (1, 2, 3)})
    wanted = torch.stack([out[layer][0, :, -32:].mean(dim=(0, 1)) for layer in looked]).mean(dim=0)
    torch.testing.assert_close(torch.tensor(mass), wanted, atol=1e-4, rtol=1e-3)


def test_only_the_end_of_a_prompt_is_looked_at() -> None:
    engine, text = LocalEngine(tiny_loaded("llama")), ids(45, 5)
    prefiller = Prefiller(engine, 16)
    run = prefiller.run(Rendered(text, (Segment("user", 1, len(text)),)), lambda: False)
    next(run)
    assert prefiller.looked_at == []
    list(run)
    assert len(prefiller.looked_at) == len(text)
    fed(engine, ids(4, 6))
    assert len(prefiller.looked_at) == len(text)
