"""The check of an agent: the form, the report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from agents_registry.addresses.callers import Caller, sender_of
from matches.audience.check_form import CheckForm
from matches.audience.pages import PageKey
from matches.audience.views.audience import page
from matches.checks import asking, report
from matches.league.errors import ActionRefused, Invalid


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def check(request: HttpRequest) -> HttpResponse:
    """The form for a check; a POST requests the check and redirects to its report."""
    caller = sender_of(request)
    if request.user.has_perm("agents_registry.change_agent"):
        # Only this form accepts the instructor's session, as it has a CSRF token; the API demands the instructor's key.
        caller = replace(caller, instructor=True)
    if request.method != "POST":
        return _form(request, CheckForm(initial={"endpoint": request.GET.get("address", "")[:300]}), caller)
    form = CheckForm(request.POST)
    if not form.is_valid():
        return _form(request, form, caller, status=422)
    try:
        queued = asking.ask(caller=caller, **form.arguments())
    except ActionRefused as refusal:
        field = refusal.field if isinstance(refusal, Invalid) else None
        form.add_error(field if field in form.fields else None, refusal.sentence)
        return _form(request, form, caller, status=refusal.status)
    return HttpResponseRedirect(reverse("check_report", args=[queued.pk]), status=303)


def _form(request: HttpRequest, form: CheckForm, caller: Caller, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "caller": caller}
    return render(request, "check/form.html", context, status=status)


@never_cache
@require_safe
def check_report(request: HttpRequest, check_id: UUID) -> HttpResponse:
    """The report of a check; it updates itself while the check runs."""
    return page(request, "check/report.html", PageKey("check", item=str(check_id)))


@never_cache
@require_safe
def check_json(request: HttpRequest, check_id: UUID) -> HttpResponse:
    """The report of a check as JSON."""
    check = report.find(check_id)
    if check is None:
        raise Http404
    return JsonResponse(report.api_row(check), json_dumps_params={"ensure_ascii": False, "indent": 2})
