"""Users and groups in the admin, in its skin. Roles in a league are given on the desk of the league."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.forms import ModelMultipleChoiceField
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from matches.desk.access import AdminMixin, ChosenRows
from matches.desk.merging import LocksRow, MergedForm
from matches.league import audit as audit_log
from matches.view import audit

admin.site.unregister(User)
admin.site.unregister(Group)


if TYPE_CHECKING:
    _SeveralRows = ModelMultipleChoiceField[Any]
    _UserAdmin = DjangoUserAdmin[User]
else:
    # Django's classes take no arguments in brackets.
    _SeveralRows, _UserAdmin = ModelMultipleChoiceField, DjangoUserAdmin


class _CheckedIds(_SeveralRows):
    """A choice of several rows that checks their ids: Django would ask the database for whatever was sent."""

    def _check_values(self, value: Any) -> Any:
        if self.queryset is not None:
            self._check(self.queryset.model, value)
        return super()._check_values(value)  # type: ignore[misc] # django-stubs leave this method out

    def _check(self, model: type[Model], value: Any) -> None:
        for row_id in self.prepare_value(value) or ():
            try:
                model._meta.pk.clean(row_id, None)
            except ValidationError:
                message = self.error_messages["invalid_pk_value"]
                raise ValidationError(message, code="invalid_pk_value", params={"pk": row_id}) from None


class _Permissions(_CheckedIds):
    """A choice of permissions, in words of the reader's language: Django has their names in English only."""

    def label_from_instance(self, obj: Any) -> str:
        kind = obj.content_type
        verb, _sep, rest = obj.codename.partition("_")
        words = {"add": _("may add"), "change": _("may change"), "delete": _("may delete"), "view": _("may see")}
        # Without the name of the application: the line fits on a phone.
        return f"{kind.name}: {words[verb] if rest == kind.model else obj.name}"

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether other permissions were chosen than ``initial``, of those that the field offers."""
        offered = {str(pk) for pk in self._offered().values_list("pk", flat=True)}
        return super().has_changed([pk for pk in self.prepare_value(initial) or () if str(pk) in offered], data)

    def besides(self, permissions: Any) -> QuerySet[Permission]:
        """The given permissions that this field does not offer.

        Args:
            permissions: the manager of the permissions of an account or a group.
        """
        others: QuerySet[Permission] = permissions.exclude(pk__in=self._offered()).select_related("content_type")
        return others

    def _offered(self) -> QuerySet[Permission]:
        return Permission.objects.none() if self.queryset is None else self.queryset.order_by()


class _ChoosesSeveral(AdminMixin):
    """Mixed, before the base class, into the admin of a table whose rows refer to several rows of another table."""

    def formfield_for_manytomany(self, db_field: Any, request: Any = None, **kwargs: Any) -> Any:
        options: dict[str, Any] = {"form_class": _CheckedIds}
        if db_field.related_model is Permission:
            # Only those that mean something here: no page asks for a permission on any other table.
            models = [model._meta.model_name for model in self.admin_site._registry]
            apps = {model._meta.app_label for model in self.admin_site._registry}
            chosen = Permission.objects.filter(content_type__app_label__in=apps, content_type__model__in=models)
            options = {"form_class": _Permissions, "queryset": chosen.select_related("content_type")}
        return super().formfield_for_manytomany(db_field, request, **{**options, **kwargs})

    def get_form(self, request: Any, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Name the permissions below the field that it does not offer."""
        form = super().get_form(request, obj, change=change, **kwargs)
        for name, field in form.base_fields.items():
            if obj is not None and isinstance(field, _Permissions):
                names = [field.label_from_instance(one) for one in field.besides(getattr(obj, name))]
                if names:
                    more = gettext("Kept as they are, as no page here asks for them: %(names)s.")
                    # Django takes a help text for HTML.
                    field.help_text = format_html("{} {}", field.help_text, more % {"names": ", ".join(names)})
        return form

    def save_related(self, request: Any, form: Any, formsets: Any, change: bool) -> None:
        """Save the chosen rows, and keep permissions that the field does not offer: code or another tool gave them."""
        for name, field in form.fields.items():
            if change and isinstance(field, _Permissions):
                form.cleaned_data[name] = [*form.cleaned_data[name], *field.besides(getattr(form.instance, name))]
        super().save_related(request, form, formsets, change)


class _Logged(AdminMixin):
    """Mixed, before the base class, into the admin of users and groups: writes changes to the log of who did what.

    Attributes:
        hidden: columns of which the log says only that they changed.
    """

    hidden: tuple[str, ...] = ()

    def get_object(self, request: Any, object_id: str, from_field: str | None = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            request.values_before = audit.row_values(row)
        return row

    def log_addition(self, request: Any, row: Any, message: Any) -> Any:
        self._note(request, "add", row, {})
        return super().log_addition(request, row, message)

    def log_change(self, request: Any, row: Any, message: Any) -> Any:
        self._note(request, "change", row, getattr(request, "values_before", {}))
        return super().log_change(request, row, message)

    def log_deletions(self, request: Any, queryset: Any) -> Any:
        for row in queryset:
            self._note(request, "delete", row, {})
        return super().log_deletions(request, queryset)

    def _note(self, request: Any, what: str, row: Any, before: dict[str, Any]) -> None:
        after = {} if what == "delete" else audit.row_values(row)
        changes = audit.changes(before, after, hidden=self.hidden)
        audit_log.note(by=request.user, action=f"{row._meta.model_name}.{what}", target=str(row), changes=changes)


class _UserForm(MergedForm, UserChangeForm):
    """An account."""


@admin.register(User)
class UserAdmin(LocksRow, _Logged, _ChoosesSeveral, ChosenRows, _UserAdmin, ModelAdmin):
    """The admin of accounts."""

    hidden = ("password",)

    form = _UserForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    # Django's widget of two lists is wider than a phone, and its tooltips have no name for a screen reader.
    filter_horizontal = ()
    fieldsets = (*(DjangoUserAdmin.fieldsets or ())[:-1], (_("Important dates"), {"fields": ("logged_in", "joined")}))
    # They are facts: nobody sets them by hand.
    readonly_fields = ("logged_in", "joined")

    @admin.display(description=_("last login"))
    def logged_in(self, user: User) -> str:
        return _time(user.last_login)

    @admin.display(description=_("date joined"))
    def joined(self, user: User) -> str:
        return _time(user.date_joined)


def _time(at: datetime | None) -> str:
    """A time that the page shows in the reader's zone, with UTC beside."""
    return render_to_string("admin/time.html", {"at": at}) if at is not None else "–"


@admin.register(Group)
class GroupAdmin(LocksRow, _Logged, _ChoosesSeveral, ChosenRows, DjangoGroupAdmin, ModelAdmin):
    """Sets of permissions; a group that may add leagues is a group of instructors."""

    form = MergedForm

    filter_horizontal = ()
