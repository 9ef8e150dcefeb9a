"""Users and groups in the admin, in the admin's skin. Roles in leagues are given on a league's desk."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.forms import ModelMultipleChoiceField
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from matches.desk.access import ChosenRows

admin.site.unregister(User)
admin.site.unregister(Group)


class _Ids(ModelMultipleChoiceField):
    """Rows to choose several of; Django asks the database for whatever was sent as their ids."""

    def clean(self, value: Any) -> Any:
        for one in self.prepare_value(value) or ():
            try:
                self.queryset.model._meta.pk.clean(one, None)
            except ValidationError:
                message = self.error_messages["invalid_pk_value"]
                raise ValidationError(message, code="invalid_pk_value", params={"pk": one}) from None
        return super().clean(value)


class _ChoosesSeveral:
    """Mixed into the admin of rows with several of others, before the admin itself."""

    def formfield_for_manytomany(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        return super().formfield_for_manytomany(  # type: ignore[misc]
            db_field, request, **{"form_class": _Ids, **kwargs}
        )


@admin.register(User)
class UserAdmin(_ChoosesSeveral, ChosenRows, DjangoUserAdmin, ModelAdmin):
    """Who can log in."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    # Django's widget of two lists is wider than a phone, and its tooltips have no name that a screen reader may say.
    filter_horizontal = ()


@admin.register(Group)
class GroupAdmin(_ChoosesSeveral, ChosenRows, DjangoGroupAdmin, ModelAdmin):
    """Sets of permissions; a group that may add leagues is a group of instructors."""

    filter_horizontal = ()
