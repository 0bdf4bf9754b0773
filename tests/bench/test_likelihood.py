"""Likelihoods are those of one pass without a cache, however the KV came about; the live KV stays as it is."""

from __future__ import annotations

import pytest
import torch
from tiny import reference_model, tiny_loaded

from chatkv.bench.likelihood import copied, grown, read
from chatkv.engine.embeddings import embeddings
from chatkv.engine.local import LocalEngine

IDS = [3 + (n * 37) % 250 for n in range(60)]


@torch.inference_mode()
def perplexity(kind: str, ids: list[int], start: int) -> float:
    logits = reference_model(kind)(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()
    loss = torch.nn.functional.cross_entropy(logits[start:-1], torch.tensor(ids[start + 1 :]))
    return float(loss.exp())


@pytest.mark.parametrize("kind", ["llama", "gemma3", "hybrid"])
def test_it_is_the_perplexity_of_a_pass_without_a_cache(kind: str) -> None:
    loaded = tiny_loaded(kind)
    found = read(loaded, grown(loaded, None, IDS[:40]), IDS[40:]).perplexity
    assert found == pytest.approx(perplexity(kind, IDS, 40), rel=1e-4)


def test_a_copy_reads_on_and_the_live_cache_does_not_change() -> None:
    loaded = tiny_loaded("llama")
    engine = LocalEngine(loaded)
    engine.feed(IDS[:50], "user", 1)
    held = engine.cache.keys
    before = [keys.clone() for keys in held()]
    twin = grown(loaded, copied(loaded, engine.cache, 30), IDS[30:40])
    assert read(loaded, twin, IDS[40:]).perplexity == pytest.approx(perplexity("llama", IDS, 40), rel=1e-4)
    assert engine.in_step()
    assert all(torch.equal(a, b) for a, b in zip(before, held(), strict=True))


def test_divergence_is_nothing_from_itself_and_something_from_another() -> None:
    loaded = tiny_loaded("llama")
    exact = read(loaded, grown(loaded, None, IDS[:40]), IDS[40:])
    other = read(loaded, grown(loaded, None, IDS[5:40]), IDS[40:])
    assert exact.divergence(exact) == (0.0, 1.0)
    kl, equal = other.divergence(exact)
    assert kl > 1e-3
    assert equal < 1


def test_embeddings_are_the_rows_of_the_table() -> None:
    loaded = tiny_loaded("llama")
    found = embeddings(loaded)
    assert found is not None
    rows, n_rows = found
    table = loaded.model.get_input_embeddings().weight
    assert n_rows == len(table)
    assert (rows([5, 0, 5]) == table[[5, 0, 5]].numpy()).all()
