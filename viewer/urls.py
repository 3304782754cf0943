"""Addresses of the pages."""

from django.urls import path, register_converter

from viewer import views
from viewer.paths import KeyConverter

register_converter(KeyConverter, "key")

app_name = "viewer"
urlpatterns = [
    path("", views.home, name="home"),
    path("inspect", views.submit, name="submit"),
    path("i/<uuid:inspection_id>/", views.inspection, name="inspection"),
    path("i/<uuid:inspection_id>/status", views.status, name="status"),
    path("i/<uuid:inspection_id>/manifest", views.manifest, name="manifest"),
    path("i/<uuid:inspection_id>/cancel", views.cancel, name="cancel"),
    path("i/<uuid:inspection_id>/render", views.conversation, name="conversation"),
    path(
        "i/<uuid:inspection_id>/render/<uuid:job_id>",
        views.conversation_status,
        name="conversation-status",
    ),
    path("i/<uuid:inspection_id>/<slug:name>/", views.tab, name="tab"),
    path("i/<uuid:inspection_id>/metadata/<key:key>", views.array, name="array"),
    path("i/<uuid:inspection_id>/compare", views.choose, name="choose"),
    path("compare/<uuid:before_id>/<uuid:after_id>/", views.compare, name="compare"),
    path("signin", views.sign_in, name="signin"),
    path("signout", views.sign_out, name="signout"),
    path("tokens/", views.token_list, name="tokens"),
    path("tokens/<slug:token_id>/revoke", views.token_revoke, name="token-revoke"),
    path("webhooks/", views.webhook_list, name="webhooks"),
    path("webhooks/<uuid:webhook_id>/", views.webhook, name="webhook"),
    path("webhooks/<uuid:webhook_id>/<slug:action>", views.webhook_act, name="webhook-act"),
    path("audits/", views.audit_list, name="audits"),
    path("audits/begin", views.audit_begin, name="audit-begin"),
    path(
        "audits/schedules/<uuid:schedule_id>/delete", views.schedule_delete, name="schedule-delete"
    ),
    path("audits/<uuid:audit_id>/", views.audit, name="audit"),
    path("audits/<uuid:audit_id>/status", views.audit_status, name="audit-status"),
    path("audits/<uuid:audit_id>/cancel", views.audit_cancel, name="audit-cancel"),
    path("rules/", views.rules, name="rules"),
    path("rules/<slug:rule_id>/", views.rule, name="rule"),
]
