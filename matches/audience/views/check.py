"""The form for a check of an agent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agents_registry.addresses.callers import Caller, sender_of
from matches.audience.check_form import CheckForm
from matches.checks import asking
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
