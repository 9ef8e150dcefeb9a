from typing import Any

from django.contrib import admin

# Which model it is for cannot be said: at run time Django's class takes no arguments in brackets.
class ModelAdmin(admin.ModelAdmin[Any]): ...
