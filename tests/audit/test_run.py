"""Whole audits: what becomes of every model, what is remembered, what changed."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ggufhub.audit.groups import Filter
from ggufhub.audit.hosts import TRIES
from ggufhub.audit.result import AuditResult
from ggufhub.audit.run import MOST_WAITS, How, audit
from ggufhub.audit.state import State, write_state
from ggufhub.errors import SourceError, UsageError
from ggufhub.rules.model_samples import llama
from ggufhub.rules.policy import Policy
from ggufhub.sources.listed import LINKS
from tests.audit.fakeorg import FakeOrganisation, Window
from tests.audit.kit import write
from tests.core.rangeserver import RangeServer

MODEL = llama()
LOCAL = How(networks=("127.0.0.0/8",))


def verdicts(result: AuditResult) -> dict[str, str]:
    return {row["path"]: row["report"]["verdict"] for row in result.rows()}


def remembered(result: AuditResult, how: How = LOCAL) -> State:
    return State(how.made_by, result.rows())


def test_every_model_gets_its_verdict(tmp_path: Path) -> None:
    write(tmp_path, {"a/one.gguf": MODEL, "two.gguf": b"GGUF", "three.gguf": b"<html>"})
    result = audit(str(tmp_path), LOCAL)
    assert verdicts(result) == {
        "a/one.gguf": "pass",
        "three.gguf": "unreadable",
        "two.gguf": "fail",
    }
    totals = result.head["totals"]
    assert (totals["models"], totals["pass"], totals["fail"]) == (3, 1, 1)
    assert result.head["verdict"] == "unreadable"


def test_two_processes_say_what_one_says(tmp_path: Path) -> None:
    write(tmp_path, {f"m{n}.gguf": llama({"general.name": str(n)}) for n in range(12)})
    one = audit(str(tmp_path), LOCAL)
    two = audit(str(tmp_path), How(jobs=2))
    assert verdicts(one) == verdicts(two)
    assert one.head == two.head


def test_only_what_is_wanted_is_opened(tmp_path: Path) -> None:
    write(
        tmp_path, {"m-Q4_0.gguf": MODEL, "m-Q8_0.gguf": MODEL, "x/n-Q8_0.gguf": MODEL + b"0" * 99}
    )

    def chosen(wanted: Filter) -> list[str]:
        return list(verdicts(audit(str(tmp_path), How(wanted=wanted))))

    assert chosen(Filter(tags=("q8_0",))) == ["m-Q8_0.gguf", "x/n-Q8_0.gguf"]
    assert chosen(Filter(globs=("x/*",))) == ["x/n-Q8_0.gguf"]
    assert chosen(Filter(globs=("m-*",), tags=("Q4_0",))) == ["m-Q4_0.gguf"]
    assert chosen(Filter(largest=len(MODEL))) == ["m-Q4_0.gguf", "m-Q8_0.gguf"]
    assert chosen(Filter(smallest=len(MODEL) + 1)) == ["x/n-Q8_0.gguf"]


def test_what_did_not_change_is_not_opened_again(tmp_path: Path) -> None:
    write(tmp_path, {"one.gguf": MODEL, "two.gguf": llama({"general.name": "Two"})})
    first = audit(str(tmp_path), LOCAL)
    stamp = (tmp_path / "one.gguf").stat()
    (tmp_path / "one.gguf").write_bytes(b"?" * len(MODEL))  # nobody may look
    os.utime(tmp_path / "one.gguf", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    second = audit(str(tmp_path), LOCAL, remembered(first))
    assert [row["reused"] for row in second.rows()] == [True, True]
    assert verdicts(second) == verdicts(first)
    assert not any(second.head["changes"].values())
    other = audit(str(tmp_path), How(profile="load"), remembered(first))
    assert verdicts(other)["one.gguf"] == "unreadable"


def test_changes_are_told(tmp_path: Path) -> None:
    names = ("same", "worse", "gone", "better")
    files = {f"{name}.gguf": llama({"general.name": name}) for name in names}
    first = audit(str(write(tmp_path, {**files, "better.gguf": b"GGUF"})), LOCAL)
    (tmp_path / "gone.gguf").unlink()
    write(tmp_path, {"worse.gguf": b"GGUF", "better.gguf": files["better.gguf"], "new.gguf": MODEL})
    changes = audit(str(tmp_path), LOCAL, remembered(first)).head["changes"]
    assert changes["new"] == ["new.gguf"]
    assert changes["gone"] == ["gone.gguf"]
    assert changes["changed"] == ["better.gguf", "worse.gguf"]
    assert changes["verdicts"] == [
        {"path": "better.gguf", "before": "fail", "after": "pass"},
        {"path": "worse.gguf", "before": "pass", "after": "fail"},
    ]
    assert list(changes["findings"]) == ["worse.gguf"]
    assert changes["regressions"] == ["worse.gguf"]


def test_a_new_model_that_is_broken_is_a_regression(tmp_path: Path) -> None:
    first = audit(str(write(tmp_path, {"one.gguf": MODEL})), LOCAL)
    write(tmp_path, {"new.gguf": b"GGUF"})
    changes = audit(str(tmp_path), LOCAL, remembered(first)).head["changes"]
    assert changes["regressions"] == ["new.gguf"]


def test_the_state_outlives_the_process(tmp_path: Path) -> None:
    result = audit(str(write(tmp_path / "models", {"one.gguf": MODEL})), LOCAL)
    file = tmp_path / "audit.state"
    assert State.read(file) is None
    write_state(file, LOCAL.made_by, result.rows())
    state = State.read(file)
    assert state is not None
    again = audit(str(tmp_path / "models"), LOCAL, state)
    assert [row["reused"] for row in again.rows()] == [True]


@pytest.mark.parametrize("content", [b"", b"text", b"\x1f\x8b\x08\x00garbage"])
def test_another_file_is_no_state(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(UsageError, match="no state of an audit"):
        State.read(tmp_path / "state")


def test_one_dead_host_does_not_hold_up_the_others() -> None:
    with RangeServer({f"{n}.gguf": MODEL for n in range(3)}) as server:
        dead = [f"http://127.0.0.1:9/{number}.gguf" for number in range(20)]
        alive = [server.url(f"{number}.gguf") for number in range(3)]
        result = audit(LINKS + "\n".join([*dead, *alive]), LOCAL)
    errors = [row["report"]["error"] for row in result.rows()]
    codes = [error["code"] for error in errors if error is not None]
    assert codes.count("host_down") == 20 - TRIES
    assert result.head["totals"]["pass"] == 3
    assert result.head["totals"]["unreadable"] == 20


def test_an_organisation_is_asked_no_more_than_it_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    api, resolvers = Window("api", 15, 1.5), Window("resolvers", 8, 1.5)
    with FakeOrganisation(20, MODEL, windows=(api, resolvers)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        result = audit("hf://org", LOCAL)
    assert result.head["totals"]["pass"] == 20
    assert max(api.asked) == api.most
    assert api.refused == 0
    # A listing that the end of a window cut short is begun again.
    assert 0 <= sum(api.asked) - (1 + 2 * 20) < len(api.asked)
    assert sum(resolvers.asked) - resolvers.refused == 20


def limited(window: Window, count: int) -> tuple[RangeServer, str]:
    """A server of ``count`` models that counts requests in ``window``, and the list of them."""
    serve = window.counted(lambda handler, _: handler.serve(MODEL))
    server = RangeServer({}, {f"{n}.gguf": serve for n in range(count)})
    return server, LINKS + "\n".join(server.url(f"{n}.gguf") for n in range(count))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_host_is_asked_for_no_more_than_its_quota_allows(jobs: int) -> None:
    """The files that are being read when little is left count too."""
    window = Window("resolvers", 12, 2.0)
    server, links = limited(window, 25)
    with server:
        result = audit(links, replace(LOCAL, jobs=jobs))
    assert result.head["totals"]["pass"] == 25
    assert window.refused == 0
    assert sum(window.asked) == 25


def test_a_quota_of_few_requests_takes_as_many_windows_as_it_needs() -> None:
    window = Window("resolvers", 2, 0.2)
    server, links = limited(window, MOST_WAITS + 3)
    with server:
        result = audit(links, LOCAL)
    assert result.head["totals"]["pass"] == MOST_WAITS + 3


def test_a_host_that_never_has_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("ggufhub.audit.run.time.sleep", pauses.append)
    server, links = limited(Window("resolvers", 0, 600.0), 2)
    with server:
        result = audit(links, LOCAL)
    assert result.head["totals"]["unreadable"] == 2
    assert len(pauses) == MOST_WAITS


def test_an_organisation_within_its_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOrganisation(30, MODEL, quota=7) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        result = audit("hf://org", LOCAL)
        assert hub.refused > 5
    assert result.head["totals"]["pass"] == 30
    assert len(result.head["places"]) == 30
    assert {place["revision"] for place in result.head["places"]} == {"c0ffee" + "0" * 34}
    licences = [f for f in result.head["findings"] if f["rule"] == "AUD011"]
    assert len(licences) == 30
    assert licences[0]["paths"] == ["org/r000/r000-Q8_0.gguf", "org/r000/README.md"]


def test_a_repository_that_cannot_be_listed_is_told_and_the_others_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with FakeOrganisation(3, MODEL) as hub:
        del hub.server.behaviours["api/models/org/r001/revision/main"]
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        result = audit("hf://org", LOCAL)
    assert result.head["totals"]["models"] == 2
    assert [problem["path"] for problem in result.head["problems"]] == ["org/r001"]


def test_a_source_that_is_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no folder"):
        audit(str(tmp_path / "absent"), LOCAL)


def test_the_policy_holds_for_repositories(tmp_path: Path) -> None:
    write(tmp_path, {"one.gguf": MODEL, "two.gguf": MODEL})
    ignored = How(policy=Policy(ignore={"AUD": "we keep copies"}))
    head = audit(str(tmp_path), ignored).head
    assert head["findings"] == []
    assert {"rule": "AUD010", "reason": "ignored: we keep copies"} in head["not_evaluated"]
    louder = How(policy=Policy(severity={"AUD010": "error"}))
    head = audit(str(tmp_path), louder).head
    assert [finding["severity"] for finding in head["findings"]] == ["error"]
    assert head["verdict"] == "fail"
