"""The whole address space: probes, the API, the pages."""

from django.urls import include, path

from ggufhub.api.views import health

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("api/v1/", include("ggufhub.api.urls")),
    path("", include("viewer.urls")),
]

handler400 = "viewer.views.errors.bad_request"
handler403 = "viewer.views.errors.forbidden"
handler404 = "viewer.views.errors.not_found"
handler500 = "viewer.views.errors.server_error"
