"""No script of ours can turn text into markup or code; the administration, spared that, works."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ROOT, Opener
from tests.browser.shots import service
from tests.browser.test_sending import hash_module

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"

# What each statement throws, '' where it goes through.
TRIED = """() => [
  () => { document.createElement("p").innerHTML = "<b>x</b>"; },
  () => { document.createElement("script").src = "/static/x.js"; },
  () => { document.createElement("p").setAttribute("onclick", "x()"); },
  () => new DOMParser().parseFromString("<b>x</b>", "text/html"),
  () => new Worker("/static/x.js"),
  () => trustedTypes.createPolicy("other", {}),
  () => trustedTypes.createPolicy("ggufhub", {}),
  () => { document.createElement("p").textContent = "<b>x</b>"; },
].map((one) => { try { one(); return ""; } catch (error) { return error.name; } })"""

FOREIGN = """async ([module, addresses]) => {
  const { sha256 } = await import(module);
  const file = new File(["x"], "x");
  return Promise.all(addresses.map((worker) =>
    sha256(file, { worker, onDone() {} }).catch((error) => error.message)));
}"""


@pytest.fixture
def page(site: str, chromium: Browser) -> Iterator[Page]:
    """A page that may complain in its console: the browser tells of all that it refuses."""
    context = chromium.new_context(base_url=site)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("path", ["/", "/rules/", "/api/v1/docs", "/nowhere"])
def test_text_becomes_no_markup_and_no_code(page: Page, path: str) -> None:
    page.goto(path)
    # Only the first page has loaded the one module with a policy: elsewhere its name is still free.
    last = "TypeError" if path == "/" else ""
    assert page.evaluate(TRIED) == [*["TypeError"] * 6, last, ""]


def test_a_worker_is_a_script_of_our_own(page: Page) -> None:
    page.goto("/")
    addresses = [
        "https://elsewhere.example/x.js",
        "//elsewhere.example/x.js",
        f"{page.url.rstrip('/')}@elsewhere.example/x.js",
        "data:text/javascript,postMessage({digest:1})",
        "javascript:1",
        page.evaluate("URL.createObjectURL(new Blob(['postMessage({digest:1})']))"),
    ]
    assert "blob:http://127.0.0.1" in addresses[-1]
    found = page.evaluate(FOREIGN, [hash_module(page), addresses])
    assert found == ["A script from elsewhere."] * len(addresses)


@pytest.fixture
def administration(tmp_path: Path) -> Iterator[str]:
    """The address of the administration of a service with the operator ``root``."""
    with service(tmp_path) as address:
        make = "manage.py createsuperuser --noinput --username root --email root@models.example"
        environment = {
            "PATH": os.environ["PATH"],
            "GGUFHUB_DATA": str(tmp_path),
            "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
        }
        subprocess.run([sys.executable, *make.split()], cwd=ROOT, env=environment, check=True)
        yield f"{address}/admin/"


def test_the_administration_works(opened: Opener, administration: str) -> None:
    """Its lists, filters, actions and forms, without a complaint in the console."""
    page = opened("/rules/")
    page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    page.goto(administration)
    page.get_by_label("Name").fill("root")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    page.wait_for_url(administration)
    page.get_by_role("link", name="Users").first.click()
    page.locator("#action-toggle").check()
    expect(page.locator(".action-counter")).to_have_text("1 of 1 selected")
    page.locator("select[name=action]").select_option("delete_selected")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.get_by_role("heading", name="Delete multiple objects")).to_be_visible()
    page.get_by_role("link", name="No, take me back").click()
    page.get_by_role("link", name="root").click()
    # Built by its scripts, which need jQuery.
    page.get_by_role("button", name="Choose all user permissions").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text("was changed successfully")
    page.goto(f"{administration}hub/inspection/?state__exact=failed")
    expect(page.get_by_text("0 inspections")).to_be_visible()
