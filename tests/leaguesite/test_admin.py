"""Accounts and groups in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

pytestmark = pytest.mark.django_db


def _permissions(kind: str) -> tuple[Any, str, str]:
    """An account or a group, the address of its form, and the form's field of permissions."""
    if kind == "user":
        user = User.objects.create_user("grace")
        return user, f"/admin/auth/user/{user.pk}/change/", "user_permissions"
    group = Group.objects.create(name="grace")
    return group, f"/admin/auth/group/{group.pk}/change/", "permissions"


@pytest.mark.parametrize("kind", ["user", "group"])
def test_permissions_that_the_form_does_not_offer_are_kept_and_named(desk: Client, kind: str) -> None:
    row, address, field = _permissions(kind)
    offered = list(Permission.objects.filter(content_type__model="league").order_by("pk")[:2])
    outside = list(Permission.objects.filter(codename__in=["delete_session", "add_delivery"]).order_by("pk"))
    assert len(outside) == 2
    getattr(row, field).set([offered[0], *outside])
    form = {"username": "grace", "is_active": "on", "name": "grace"}
    shown = desk.get(address)
    choices = shown.context["adminform"].form.fields[field].queryset
    assert not set(outside) & set(choices)
    named = "Kept as they are, as no page here asks for them: "
    assert named in shown.content.decode()
    note = shown.content.decode().split(named)[1].split("</div>")[0]
    assert ("session: may delete" in note, note.count(": may ")) == (True, 2)
    for chosen in ([offered[1]], []):
        assert desk.post(address, form | {field: [one.pk for one in chosen]}).status_code == 302
        ids = {one.pk for one in getattr(row, field).all()}
        assert ids == {one.pk for one in [*chosen, *outside]}
    # A user who changes nothing causes no change.
    desk.post(address, form)
    assert LogEntry.objects.latest("pk").change_message == "[]"


def test_a_group_without_permissions_gets_none_when_it_is_saved(desk: Client) -> None:
    row, address, field = _permissions("group")
    assert "Kept as they are" not in desk.get(address).content.decode()
    assert desk.post(address, {"name": "grace"}).status_code == 302
    assert list(getattr(row, field).all()) == []
