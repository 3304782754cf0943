"""axe-core on a page: what it finds that is serious or critical."""

import hashlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

VENDOR = Path(__file__).parent / "vendor"
SERIOUS = ("serious", "critical")

_RUN = """async (rules) => {
  const options = { resultTypes: ["violations"] };
  if (rules.length) options.runOnly = { type: "rule", values: rules };
  const { violations } = await axe.run(document, options);
  return violations.map(({ id, impact, nodes }) => ({
    id, impact, nodes: nodes.map((node) => node.html.slice(0, 200)),
  }));
}"""


@cache
def source() -> str:
    """The vendored program, whose digest is what VENDOR.toml says."""
    (entry,) = tomllib.loads((VENDOR / "VENDOR.toml").read_text())["file"]
    text = (VENDOR / entry["path"]).read_bytes()
    assert hashlib.sha256(text).hexdigest() == entry["sha256"]
    assert all((VENDOR / name).is_file() for name in entry["licence_files"])
    return text.decode()


def serious(page: Page, *rules: str) -> list[dict[str, Any]]:
    """What axe finds on ``page`` that keeps somebody out; of ``rules`` only, if there are any."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(source())
    found: list[dict[str, Any]] = page.evaluate(_RUN, list(rules))
    return [one for one in found if one["impact"] in SERIOUS]
