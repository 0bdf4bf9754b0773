"""Growing buffers hold exactly what was appended, cut exactly, and never reserve more than they promise."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chatkv.kv.layers import GrowingLayer

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 400)),
        st.tuples(st.just("cut"), st.floats(0, 1)),
        st.tuples(st.just("reserve"), st.integers(0, 900)),
        st.tuples(st.just("give_back"), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_a_layer_is_a_list_of_states(steps: list[tuple[str, float]]) -> None:
    layer, expected = GrowingLayer(), torch.empty(1, 2, 0, 3)
    for act, amount in steps:
        if act == "append":
            new = torch.randn(1, 2, int(amount), 3)
            keys, values = layer.update(new, -new[..., :2])
            expected = torch.cat([expected, new], dim=2)
            assert torch.equal(keys, expected)
            assert torch.equal(values, -expected[..., :2])
        elif act == "cut":
            expected = expected[:, :, : int(amount * expected.shape[2])]
            layer.truncate(expected.shape[2])
        elif act == "reserve":
            layer.reserve(int(amount))
        else:
            layer.give_back()
        assert layer.get_seq_length() == expected.shape[2]
        assert layer.used_bytes == expected.shape[2] * 2 * (3 + 2) * 4
        assert layer.reserved_bytes >= layer.used_bytes
        if expected.shape[2]:
            assert torch.equal(layer.keys, expected)  # type: ignore[arg-type]


def test_reserved_is_close_to_used_beyond_a_thousand_tokens() -> None:
    layer = GrowingLayer()
    layer.update(torch.zeros(1, 1, 1000, 4), torch.zeros(1, 1, 1000, 4))
    one = torch.zeros(1, 1, 1, 4)
    for _ in range(4000):
        layer.update(one, one)
        if layer.n_tokens > 1024:
            assert layer.reserved_bytes <= 1.15 * layer.used_bytes


def test_appending_writes_in_place_until_the_buffer_is_full() -> None:
    layer = GrowingLayer()
    keys, _ = layer.update(torch.zeros(1, 1, 10, 4), torch.zeros(1, 1, 10, 4))
    address = keys.data_ptr()
    while layer.n_tokens < layer.capacity:
        keys, _ = layer.update(torch.ones(1, 1, 1, 4), torch.ones(1, 1, 1, 4))
        assert keys.data_ptr() == address
    keys, _ = layer.update(torch.ones(1, 1, 1, 4), torch.ones(1, 1, 1, 4))
    assert keys.data_ptr() != address


def test_slack_never_exceeds_the_limit() -> None:
    layer = GrowingLayer(limit=1100)
    layer.update(torch.zeros(1, 1, 1090, 1), torch.zeros(1, 1, 1090, 1))
    assert layer.capacity == 1100
