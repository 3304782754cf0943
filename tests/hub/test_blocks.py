"""Blocks of headers: stored once, whoever brings them."""

import zlib
from datetime import timedelta

import pytest
from django.utils import timezone

from ggufhub.hub import shared
from ggufhub.hub.header_models import HeaderBlock
from ggufhub.hub.shared import Block

pytestmark = pytest.mark.django_db


def test_what_is_known_is_not_stored_again() -> None:
    first, second, third = (Block.of(text) for text in (b"one", b"two", b"three"))
    shared.store_blocks([first, second])
    long_ago = timezone.now() - timedelta(days=3)
    HeaderBlock.objects.update(used=long_ago, data=zlib.compress(b"as it was"))
    assert set(shared.store_blocks([second, third, second])) == {second.digest, third.digest}
    rows = {row.digest: row for row in HeaderBlock.objects.all()}
    assert set(rows) == {first.digest, second.digest, third.digest}
    assert zlib.decompress(bytes(rows[second.digest].data)) == b"as it was"
    assert zlib.decompress(bytes(rows[third.digest].data)) == b"three"
    assert rows[third.digest].size == 5
    assert rows[first.digest].used == long_ago < rows[second.digest].used


def test_what_was_asked_for_just_now_is_not_pruned() -> None:
    blocks = [Block.of(b"one"), Block.of(b"two")]
    shared.store_blocks(blocks)
    HeaderBlock.objects.update(used=timezone.now() - timedelta(days=3))
    shared.store_blocks(blocks[:1])
    assert shared.prune() == 1
    assert [row.digest for row in HeaderBlock.objects.all()] == [blocks[0].digest]


def test_many_blocks_go_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "BATCH_BYTES", 10)
    blocks = [Block.of(bytes([number]) * 4) for number in range(9)]
    assert set(shared.store_blocks(iter(blocks))) == {block.digest for block in blocks}
    assert HeaderBlock.objects.count() == 9
