from django.urls import path

from matches import views

urlpatterns = [
    path("", views.index, name="index"),
    path("leagues/<slug:league_id>/", views.board, name="board"),
    path("leagues/<slug:league_id>/matches/<slug:match_id>/", views.match, name="match"),
]
