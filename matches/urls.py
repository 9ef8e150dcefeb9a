from django.urls import path

from matches import views

urlpatterns = [
    path("", views.index, name="index"),
    path("check", views.check, name="check"),
    path("check/", views.check),
    path("check/<uuid:check_id>", views.check_report, name="check_report"),
    path("check/<uuid:check_id>.json", views.check_json, name="check_json"),
    path("leagues/<slug:league_id>/", views.board, name="board"),
    path("leagues/<slug:league_id>/matches/<slug:match_id>/", views.match, name="match"),
]
