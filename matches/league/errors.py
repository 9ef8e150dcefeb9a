"""Errors that refuse an action of the instructor, each with a sentence that says what to do."""

from __future__ import annotations

from django.utils.translation import gettext as _

from agents_registry.isolating import plain


class ActionRefused(Exception):
    """The action is refused and changes nothing; ``sentence`` (translated) says why and what to do.

    The text of the error is the same without isolates, for the API, the protocol and logs.

    Attributes:
        sentence: for a page.
        status: the HTTP status the API answers with.
    """

    status = 409

    def __init__(self, sentence: object) -> None:
        super().__init__(plain(sentence))
        self.sentence = str(sentence)


class HasChanged(ActionRefused):
    """The league has changed since the action was shown or prepared."""

    def __init__(self) -> None:
        super().__init__(_("The league has changed since this was shown: look again, then confirm."))


class NotFound(ActionRefused):
    status = 404


class Invalid(ActionRefused):
    """A value is not valid; ``field`` names it."""

    status = 422

    def __init__(self, sentence: object, *, field: str) -> None:
        super().__init__(sentence)
        self.field = field
