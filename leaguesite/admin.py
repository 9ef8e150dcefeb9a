"""Users and groups in the admin, in the admin's skin. Roles in leagues are given on a league's desk."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from matches.desk_access import ChosenRows

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(ChosenRows, DjangoUserAdmin, ModelAdmin):
    """Who can log in."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    # Django's widget of two lists is wider than a phone, and its tooltips have no name that a screen reader may say.
    filter_horizontal = ()


@admin.register(Group)
class GroupAdmin(ChosenRows, DjangoGroupAdmin, ModelAdmin):
    """Sets of permissions; a group that may add leagues is a group of instructors."""

    filter_horizontal = ()
