"""ModelScopeSource: a file in a repository of ModelScope.

Its listing tells the SHA-256 of every file and the commit that last changed it, so each file is
read at its own commit. Calls as in ``modelscope/hub/api.py`` of its client, version 1.30.
"""

from typing import Any
from urllib.parse import quote, urlencode

from ggufhub.errors import SourceError
from ggufhub.names import COMMIT
from ggufhub.sources.api import Api
from ggufhub.sources.hub import MOST_PAGES, SHA256, HubFile, HubSource
from ggufhub.sources.modelscope_names import BRANCH

PAGE = 500
"""Files asked for at once. Where the server does not count pages, the first holds all of them."""


class ModelScopeSource(HubSource):
    """As a repository of the other hub, with listings and links of another form."""

    scheme = "ms"
    branch = BRANCH

    def _pin(self, api: Api) -> str:
        """The revision as it was given: files are pinned one by one."""
        self._commits: dict[str, str] = {}
        return self._name.revision

    def _at(self) -> str:
        return f"{self._name.repo} at revision {self._commit}"

    def _link(self, path: str) -> str:
        revision = quote(self._commits.get(path, self._commit), safe="")
        place = f"models/{self._name.repo}/resolve/{revision}/{quote(path)}"
        return f"{self._settings.endpoint}/{place}"

    def _list(self, api: Api, folder: str, *, deep: bool) -> list[HubFile]:
        known: dict[str, HubFile] = {}
        for number in range(1, MOST_PAGES + 1):
            entries = self._page(api, folder, deep, number)
            files = {entry["Path"]: _file(entry) for entry in entries}
            new = files.keys() - known.keys()
            known |= files
            self._commits |= {
                entry["Path"]: entry["Revision"]
                for entry in entries
                if COMMIT.fullmatch(str(entry.get("Revision")))
            }
            if len(entries) < PAGE or not new:
                return list(known.values())
        raise SourceError("limit", f"The repository's listing has more than {MOST_PAGES} pages.")

    def _page(self, api: Api, folder: str, deep: bool, number: int) -> list[dict[str, Any]]:
        query = {
            "Revision": self._commit,
            "Recursive": str(deep),
            "Root": folder,
            "PageNumber": number,
            "PageSize": PAGE,
        }
        place = f"/api/v1/models/{self._name.repo}/repo/files?{urlencode(query)}"
        answer = api.get(place).good().json()
        if not isinstance(answer, dict) or answer.get("Success") is False:
            raise SourceError("not_found", "There is no such repository or revision there.")
        data = answer.get("Data")
        entries = data.get("Files") if isinstance(data, dict) else None
        if not isinstance(entries, list):
            raise SourceError("bad_answer", "The hub's listing is not a list.")
        return [e for e in entries if isinstance(e, dict) and isinstance(e.get("Path"), str)]


def _file(entry: dict[str, Any]) -> HubFile:
    size, digest = entry.get("Size"), str(entry.get("Sha256"))
    folder = entry.get("Type") == "tree"
    return HubFile(
        entry["Path"],
        size if isinstance(size, int) and size >= 0 and not folder else None,
        digest if SHA256.fullmatch(digest) and not folder else None,
        folder=folder,
    )
