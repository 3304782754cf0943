"""The engine: needs that were not met, floods of findings, fingerprints."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ggufhub.errors import LimitExceeded, SourceError
from ggufhub.formats.model import ModelFile
from ggufhub.limits import Limits
from ggufhub.report.build import inspect
from ggufhub.rules.registry import Hit, find_rule
from tests.builders import Gguf, small_model
from tests.core.reading import MemorySource, report
from tests.shards import three_shards


def test_rules_that_could_not_run_say_why() -> None:
    document = report(small_model().build()[:70]).document
    reasons = {entry["rule"]: entry["reason"] for entry in document["not_evaluated"]}
    assert reasons["STR032"] == "the keys could not be read to the end"


def test_a_flood_is_cut_and_counted() -> None:
    sample = Gguf()
    for number in range(200):
        sample.tensor(f"{number:x>70}")
    document = report(sample.build(), Limits(findings_per_rule=10)).document
    found = [finding for finding in document["findings"] if finding["rule"] == "STR020"]
    assert len(found) == 10
    assert "190 more findings" in found[-1]["message"]


def test_fingerprints_ignore_places() -> None:
    one = report(Gguf().key("a", 1).key("a", 2).build()).document["findings"][0]
    two = report(Gguf().key("zz", 0).key("a", 1).key("a", 2).build()).document["findings"][0]
    assert one["place"] != two["place"]
    assert one["fingerprint"] == two["fingerprint"]


def test_a_limit_is_not_decided_unless_an_error_was_seen_before_it() -> None:
    many = Gguf().key("a", 1).key("a", 1)
    for number in range(20):
        many.array(f"x{number}", 4, list(range(50)))
    undecided = report(Gguf().key("b", "c" * 100).build(), Limits(string_bytes=50)).document
    assert undecided["verdict"] == "unreadable"
    assert undecided["error"]["code"] == "limit"
    decided = report(many.key("z", "c" * 500).build(), Limits(string_bytes=100)).document
    assert decided["verdict"] == "fail"


def test_a_defect_in_a_rule_costs_that_rule_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(file: ModelFile) -> Iterator[Hit]:
        raise ZeroDivisionError
        yield Hit("never")

    rule = find_rule("STR033")
    assert rule is not None
    spoilt = replace(rule, check_file=broken)
    monkeypatch.setattr("ggufhub.rules.engine.selected", lambda profile, policy: (spoilt,))
    document = report(small_model().build()).document
    assert document["not_evaluated"] == [
        {"rule": "STR033", "reason": "the rule itself failed (ZeroDivisionError)"}
    ]


def test_a_flood_is_counted_only_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(file: ModelFile) -> Iterator[Hit]:
        while True:
            yield Hit("Wrong.")

    rule = find_rule("STR033")
    assert rule is not None
    spoilt = replace(rule, check_file=endless)
    monkeypatch.setattr("ggufhub.rules.engine.selected", lambda profile, policy: (spoilt,))
    monkeypatch.setattr("ggufhub.rules.engine.COUNTED", 100)
    findings = report(small_model().build()).document["findings"]
    assert len(findings) == 50
    assert findings[-1]["message"] == "Wrong. (and more than 100 other findings of this rule)"


def test_a_shard_that_was_cut_keeps_rules_about_the_model_quiet() -> None:
    shards = three_shards()
    second = "m-00002-of-00003.gguf"
    shards[second] = shards[second][:120]
    document = report(shards).document
    reasons = {entry["rule"]: entry["reason"] for entry in document["not_evaluated"]}
    said = f"{second}: the tensor table could not be read to the end"
    assert {reasons[rule] for rule in ("SPL005", "TEN001", "TEN003", "CMP003")} == {said}
    assert "STR003" not in reasons  # what is wrong with the shard itself is told
    assert document["verdict"] == "fail"


@pytest.mark.parametrize("budget", ["requests", "seconds"])
def test_a_budget_of_the_source_ends_a_header_as_our_own_do(budget: str) -> None:
    class Bounded(MemorySource):
        def readinto(self, offset: int, buffer: memoryview) -> int:
            if offset:
                raise SourceError("limit", "Spent.", limit=LimitExceeded(budget, 3))
            return super().readinto(offset, buffer)

    source = Bounded("m.gguf", {"m.gguf": Gguf().key("a", 1).key("b", "x" * 5_000).build()})
    document = inspect(source, limits=Limits(first_read=100)).document
    assert (document["verdict"], document["error"]["code"]) == ("unreadable", "limit")
    assert [entry["key"] for entry in document["metadata"]] == ["a"]
    assert budget in document["error"]["message"]
