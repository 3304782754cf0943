"""The one way the workers' tests reach a server on this machine."""

import pytest

from ggufhub.sources.policy import AddressPolicy
from workers import audit, hooks, inspect

LOOPBACK = AddressPolicy(allowed_networks=("127.0.0.0/8",))


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the workers fetch from 127.0.0.1 and send there, at any port."""
    for module in (audit, inspect, hooks):
        monkeypatch.setattr(module, "POLICY", LOOPBACK)
