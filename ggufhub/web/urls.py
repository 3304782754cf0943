"""The whole address space: probes, the API, the administration, the pages."""

from django.contrib import admin
from django.urls import include, path

from ggufhub.api.views import health

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.Metrics.as_view(), name="metrics"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("ggufhub.api.urls")),
    path("", include("viewer.urls")),
]

handler400 = "viewer.views.errors.bad_request"
handler403 = "viewer.views.errors.forbidden"
handler404 = "viewer.views.errors.not_found"
handler500 = "ggufhub.web.errors.server_error"
