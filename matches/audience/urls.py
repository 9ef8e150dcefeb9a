from django.urls import path

from matches.audience.views import audience, check, mine, reports, series, story

urlpatterns = [
    path("", audience.index, name="index"),
    path("protocol.md", audience.protocol, name="protocol"),
    path("check", check.check, name="check"),
    path("check/", check.check),
    path("check/<uuid:report_id>", reports.as_page, {"kind": "check"}, name="check_report"),
    path("check/<uuid:report_id>.json", reports.as_json, {"kind": "check"}, name="check_json"),
    path("practice/<uuid:report_id>", reports.as_page, {"kind": "practice"}, name="practice_report"),
    path("practice/<uuid:report_id>.json", reports.as_json, {"kind": "practice"}, name="practice_json"),
    path("series/<slug:series_id>", series.series, name="series"),
    path("series/<slug:series_id>/", series.series),
    path("leagues/<slug:league_id>/", audience.of("board"), name="board"),
    path("leagues/<slug:league_id>/matches/<slug:match_id>/", audience.of("match"), name="match"),
    path(
        "leagues/<slug:league_id>/matches/<slug:match_id>/messages",
        audience.match_messages,
        name="match_messages",
    ),
    path("leagues/<slug:league_id>/players/<slug:player_id>/", audience.of("player"), name="player"),
    path("leagues/<slug:league_id>/charts/", audience.of("charts"), name="charts"),
    path("leagues/<slug:league_id>/screen/", audience.of("screen"), name="screen"),
    path("leagues/<slug:league_id>/replay/", audience.replay, name="replay"),
    path("leagues/<slug:league_id>/replay/fragments/", audience.replay_fragments, name="replay_fragments"),
    path("leagues/<slug:league_id>/embed/", audience.embed, name="embed"),
    path("leagues/<slug:league_id>/story/", story.story, name="story"),
    path("leagues/<slug:league_id>/story/picture.png", story.picture, name="story_picture"),
    path("leagues/<slug:league_id>/story/league.html", story.file, name="story_file"),
    path("leagues/<slug:league_id>/join/", audience.join, name="join"),
    path("leagues/<slug:league_id>/join/kit.zip", audience.join_kit),
    path("leagues/<slug:league_id>/join/kit-<slug:language>.zip", audience.join_kit, name="join_kit"),
    path("leagues/<slug:league_id>/mine/", mine.mine, name="mine"),
    path("leagues/<slug:league_id>/mine/close", mine.close, name="mine_close"),
    path("leagues/<slug:league_id>/mine/again", mine.again, name="mine_again"),
    path("leagues/<slug:league_id>/mine/practice", mine.practise, name="mine_practise"),
]
