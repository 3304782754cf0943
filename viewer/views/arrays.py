"""All elements of one array, by pages and by search."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from ggufhub.hub import selectors
from viewer import paths
from viewer.paging import Page, whole_number
from viewer.views.common import get_inspection
from viewer.views.report_page import kept, render_report

ROWS = 200


@require_safe
@kept
def array(request: HttpRequest, inspection_id: UUID, key: str) -> HttpResponse:
    """A page of the array at ``key``; with ``?q=`` the elements that hold the text."""
    row = get_inspection(request, inspection_id)
    if not hasattr(row, "report"):
        return redirect("viewer:inspection", row.pk)
    q = request.GET.get("q", "")
    start = whole_number(request.GET.get("start"))
    try:
        if q:
            found = selectors.array_search(row.report, key, q=q, start=start, limit=ROWS)
            rows, total = found["items"], found["total"]
        else:
            found = selectors.array_page(row.report, key, start=start, limit=ROWS)
            rows, total = list(enumerate(found["items"], start)), found["count"]
    except selectors.NoSuchArray:
        raise Http404("The report has no such array.") from None
    context = {
        "array": found,
        "rows": rows,
        "q": q,
        "page": Page(start, ROWS, total),
        "key_url": paths.key(row.pk, key),
    }
    return render_report(request, row, "metadata", context, template="array")
