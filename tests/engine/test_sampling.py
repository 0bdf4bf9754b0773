"""The sampler against the definitions written out in plain Python, and against broken numbers."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chatkv.config import Config, SamplingConfig, changed
from chatkv.engine import sampling
from chatkv.engine.sampling import Sampler, Sampling, resolve_sampling
from chatkv.errors import EngineError

INF = math.inf
logits = st.lists(st.integers(-40, 40).map(lambda n: n / 4), min_size=1, max_size=24, unique=True)


def reference(scores: list[float], s: Sampling) -> list[float]:
    """Probability of each token, from the definitions: temperature, top-k, top-p of what is left, min-p."""
    scaled = [score / s.temperature for score in scores]
    order = sorted(range(len(scaled)), key=lambda i: -scaled[i])[: s.top_k or None]
    weights = {i: math.exp(scaled[i] - max(scaled)) for i in order}
    total = sum(weights.values())
    mass, kept = 0.0, {}
    for i in order:
        if (mass < s.top_p or s.top_p == 1) and weights[i] >= s.min_p:
            kept[i] = weights[i] / total
        mass += weights[i] / total
    return [kept.get(i, 0.0) / sum(kept.values()) for i in range(len(scores))]


def is_close_call(scores: list[float], s: Sampling) -> bool:
    """Whether a token lies so near a limit that rounding decides about it."""
    near = [
        reference(scores, Sampling(s.temperature, s.top_k, s.top_p + a, max(0.0, s.min_p + b)))
        for a in ((-1e-5, 1e-5) if s.top_p < 1 else (0,))
        for b in ((-1e-5, 1e-5) if 0 < s.min_p < 1 else (0,))
    ]
    return len({tuple(p > 0 for p in probabilities) for probabilities in near}) > 1


def distribution(scores: list[float], s: Sampling) -> list[float]:
    """The sampler's own probabilities."""
    tensor = torch.tensor(scores)
    probabilities, ids = sampling._candidates((tensor - tensor.max()) / s.temperature, s)
    kept = sampling._truncated(probabilities, s)
    return [float(p) for p in torch.zeros(len(scores)).scatter(0, ids, kept / kept.sum())]


settings_strategy = st.builds(
    Sampling,
    temperature=st.sampled_from([0.2, 0.7, 1.0, 3.0]),
    top_k=st.sampled_from([0, 0, 1, 2, 5, 24, 1000]),
    top_p=st.sampled_from([0.001, 0.3, 0.9, 0.999, 1.0, 1.0]),
    min_p=st.sampled_from([0.0, 0.0, 0.05, 0.5, 1.0]),
)


@pytest.mark.parametrize("first_look", [1, 256])
@settings(max_examples=150)
@given(scores=logits, s=settings_strategy)
def test_the_distribution_is_the_defined_one(first_look: int, scores: list[float], s: Sampling) -> None:
    assume(not is_close_call(scores, s))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "_FIRST_LOOK", first_look)
        assert distribution(scores, s) == pytest.approx(reference(scores, s), abs=1e-5)


@settings(max_examples=60)
@given(scores=logits, s=settings_strategy, seed=st.integers(0, 2**63 - 1))
def test_only_tokens_with_probability_are_picked(scores: list[float], s: Sampling, seed: int) -> None:
    assume(not is_close_call(scores, s))
    allowed = {i for i, p in enumerate(reference(scores, s)) if p > 0}
    sampler = Sampler(Sampling(s.temperature, s.top_k, s.top_p, s.min_p, seed=seed))
    assert {sampler.pick(torch.tensor(scores), []) for _ in range(20)} <= allowed


def test_frequencies_follow_the_probabilities() -> None:
    s = Sampling(temperature=0.7, top_k=4, top_p=0.95, seed=1)
    scores = [0.0, 1.0, 0.5, -1.0, 0.8, -3.0]
    sampler, n = Sampler(s), 4000
    counts = [0] * len(scores)
    for _ in range(n):
        counts[sampler.pick(torch.tensor(scores), [])] += 1
    for count, p in zip(counts, reference(scores, s), strict=True):
        assert abs(count - n * p) <= 5 * math.sqrt(n * p * (1 - p))


def test_a_nucleus_wider_than_the_first_look_is_found() -> None:
    scores = torch.zeros(5000)
    kept = sampling._truncated(sampling._candidates(scores, Sampling(1.0, top_p=0.5))[0], Sampling(top_p=0.5))
    assert int((kept > 0).sum()) in range(2490, 2511)


def test_neither_top_k_nor_top_p_reaches_every_token() -> None:
    sampler = Sampler(Sampling(temperature=1.0, seed=3))
    assert {sampler.pick(torch.zeros(4), []) for _ in range(200)} == {0, 1, 2, 3}


# ── seeds ──


@given(st.integers(0, 2**63 - 1))
@settings(max_examples=20)
def test_a_seed_gives_the_same_answer(seed: int) -> None:
    s = Sampling(temperature=1.0, top_p=0.9, seed=seed)
    a, b = Sampler(s), Sampler(s)
    scores = torch.linspace(-1, 1, 300)
    assert [a.pick(scores, []) for _ in range(8)] == [b.pick(scores, []) for _ in range(8)]


def test_without_a_seed_answers_differ_and_torchs_own_seed_does_not_matter() -> None:
    scores = torch.zeros(5_000)
    torch.manual_seed(1)
    a = [Sampler(Sampling(temperature=1.0)).pick(scores, []) for _ in range(8)]
    torch.manual_seed(1)
    b = [Sampler(Sampling(temperature=1.0)).pick(scores, []) for _ in range(8)]
    assert a != b


# ── greedy ──


def test_greedy_takes_the_best_and_the_first_of_equals() -> None:
    greedy = Sampler(Sampling())
    assert greedy.pick(torch.tensor([0.0, 3.0, 1.0]), []) == 1
    assert greedy.pick(torch.tensor([0.0, 3.0, 3.0, 3.0]), []) == 1
    assert greedy.pick(torch.zeros(100_000), []) == 0


@given(scores=logits, temperature=st.sampled_from([1e-300, 1e-40, 1e-8, 1e-4]))
def test_very_cold_is_greedy(scores: list[float], temperature: float) -> None:
    cold = Sampler(Sampling(temperature=temperature, top_p=0.95))
    assert cold.pick(torch.tensor(scores), []) == scores.index(max(scores))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("temperature", [0.0, 0.01])
def test_logits_of_every_dtype_are_taken_and_left_as_they_are(dtype: torch.dtype, temperature: float) -> None:
    scores = torch.tensor([0.5, 9.0, -2.0], dtype=dtype)
    before = scores.clone()
    sampler = Sampler(Sampling(temperature=temperature, repetition_penalty=1.1, top_k=2))
    assert sampler.pick(scores, [0, 2]) == 1
    assert torch.equal(scores, before)


# ── broken numbers ──

EVERY_WAY = [Sampling(), Sampling(1.0), Sampling(0.7, 5, 0.9, 0.1, 1.3), Sampling(0.7, top_p=0.9)]


@pytest.mark.parametrize("s", EVERY_WAY, ids=["greedy", "plain", "all", "top-p"])
@pytest.mark.parametrize("bad", [math.nan, INF])
@pytest.mark.parametrize("at", [0, 3, 999])
@pytest.mark.parametrize("rest", [0.0, -INF])
def test_one_broken_logit_is_an_error(s: Sampling, bad: float, at: int, rest: float) -> None:
    scores = torch.full((1000,), rest)
    scores[at] = bad
    with pytest.raises(EngineError, match="not numbers") as caught:
        Sampler(s).pick(scores, [0, 3, 5])
    assert "float32" in caught.value.hint


@pytest.mark.parametrize("s", EVERY_WAY, ids=["greedy", "plain", "all", "top-p"])
def test_no_token_allowed_is_an_error(s: Sampling) -> None:
    with pytest.raises(EngineError):
        Sampler(s).pick(torch.full((10,), -INF), [1])


@pytest.mark.parametrize("s", EVERY_WAY, ids=["greedy", "plain", "all", "top-p"])
def test_tokens_that_are_ruled_out_are_never_picked(s: Sampling) -> None:
    scores = torch.full((1000,), -INF)
    scores[[7, 8]] = torch.tensor([1.0, 1.1])
    sampler = Sampler(s)
    assert {sampler.pick(scores, [3, 999]) for _ in range(30)} <= {7, 8}


@pytest.mark.parametrize("s", EVERY_WAY, ids=["greedy", "plain", "all", "top-p"])
def test_huge_logits_are_still_numbers(s: Sampling) -> None:
    scores = torch.full((10,), -3e38)
    scores[4] = 3e38
    assert Sampler(s).pick(scores, []) == 4


# ── repetition penalty ──


def test_the_penalty_pulls_seen_tokens_down_whatever_their_sign() -> None:
    greedy = Sampler(Sampling(repetition_penalty=2.0))
    assert greedy.pick(torch.tensor([3.0, 2.0, 1.0]), [0, 0, 0]) == 1
    assert greedy.pick(torch.tensor([-1.0, -1.5, -9.0]), [0]) == 1
    assert greedy.pick(torch.tensor([3.0, 2.0, 1.0]), []) == 0


@given(
    scores=logits, context=st.lists(st.integers(0, 23), max_size=10), penalty=st.sampled_from([0.5, 1.2, 2.0])
)
def test_the_penalty_is_the_published_one(scores: list[float], context: list[int], penalty: float) -> None:
    seen = {token for token in context if token < len(scores)}
    expected = [
        (score / penalty if score > 0 else score * penalty) if token in seen else score
        for token, score in enumerate(scores)
    ]
    got = sampling._penalized(torch.tensor(scores), sorted(seen) * 2, penalty)
    assert got.tolist() == pytest.approx(expected, rel=1e-6)


# ── where the settings come from ──

GENERAL = Sampling(temperature=0.7, top_k=0, top_p=0.95, min_p=0.0, repetition_penalty=1.0, seed=None)
NAMES = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")


def test_the_general_defaults_are_those_that_the_configuration_file_shows() -> None:
    assert resolve_sampling(SamplingConfig(), None) == GENERAL
    assert resolve_sampling(SamplingConfig(), SimpleNamespace()) == GENERAL


@given(
    chosen=st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.25, 0.5, 1.0])),
    recommended=st.dictionaries(st.sampled_from(NAMES), st.sampled_from([None, 0.125, 0.75])),
    do_sample=st.sampled_from([None, True, False]),
    seed=st.none() | st.integers(0, 9),
)
def test_the_user_wins_over_the_model_and_the_model_over_general_defaults(
    chosen: dict[str, Any], recommended: dict[str, Any], do_sample: bool | None, seed: int | None
) -> None:
    config = SamplingConfig(**chosen, seed=seed)
    got = resolve_sampling(config, SimpleNamespace(**recommended, do_sample=do_sample))
    for name in NAMES:
        model = recommended.get(name)
        if name == "temperature" and do_sample is False:
            model = 0.0
        expected = chosen.get(name, getattr(GENERAL, name) if model is None else model)
        assert getattr(got, name) == expected
    assert got.seed == seed


def test_zero_is_a_choice_and_not_a_gap() -> None:
    config = changed(changed(Config(), "sampling.temperature", 0), "sampling.top_k", 0).sampling
    got = resolve_sampling(config, SimpleNamespace(temperature=1.0, top_k=50, do_sample=True))
    assert (got.temperature, got.top_k) == (0.0, 0)
