"""The picture for previews: a PNG of the right size, and no text that cannot be drawn."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageFont

from matches.audience import picture
from matches.audience.picture import Place, Shown, Text, can_draw, drawable, png


def only_bundled_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine has no fonts of its own."""
    monkeypatch.setattr(picture, "FONTS", {True: (), False: ()})


@pytest.fixture(params=["system", "bundled"], autouse=True)
def fonts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Once with the fonts of this machine, once with Pillow's own only."""
    if request.param == "bundled":
        only_bundled_fonts(monkeypatch)
    picture.font_of.cache_clear()
    picture._has_glyph.cache_clear()
    return str(request.param)


def shown(*names: str) -> Shown:
    """A picture with these names on the podium."""
    places = [
        Place(3 - at, str(at + 1), Text(name, f"P0{at + 1}"), Text("9 points", "9")) for at, name in enumerate(names)
    ]
    return Shown(Text("Agents", "fall"), Text("Champion", "Champion"), places, Text("3 players", "3"))


@pytest.mark.parametrize(
    "names",
    [
        ("Ada", "Bo", "Cem"),
        ("Ada",),
        (),
        ("A" * 64, "\u202e\u2066", "Z\u0335\u0336\u0337\u0338\u0335algo"),
        ("נועה לוי", "小林さくら", "🤖🤖🤖"),
    ],
)
def test_a_picture_is_a_png_of_the_size_of_previews(names: tuple[str, ...]) -> None:
    content = png(shown(*names))
    image = Image.open(io.BytesIO(content))
    assert (image.format, image.size) == ("PNG", picture.SIZE)
    assert len(content) < 200_000
    # Some text was drawn: there are more colours than background and one other.
    assert len(image.convert("L").getcolors() or []) > 2


@pytest.mark.parametrize(
    "name",
    [
        "小林さくら",
        "Agent 🤖",
        "\ue000",
        "\U0010ffff",
        "a\u0000b",
        "a\u200bb",
        "x\u0301\u0302\u0303\u0304",
        "\u202e",
        "\n \t",
        "",
    ],
)
def test_a_name_that_cannot_be_drawn_is_replaced_by_the_id(name: str) -> None:
    assert drawable(Text(name, "P07")) == "P07"


def test_names_are_drawn_without_their_direction_marks(fonts: str) -> None:
    assert drawable(Text("\u202eAda \u2066 Lovelace\u2069", "P01")) == "Ada Lovelace"
    if fonts == "bundled":
        assert not can_draw("נועה")


def test_hebrew_is_drawn_only_with_a_library_that_orders_right_to_left_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture.features, "check", lambda feature: False)
    assert not can_draw("נועה")
    assert can_draw("Ada")
    assert png(shown("Ada", "נועה"))


def test_a_pillow_without_freetype_is_named_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    only_bundled_fonts(monkeypatch)
    monkeypatch.setattr(ImageFont, "load_default", lambda size: ImageFont.ImageFont())
    with pytest.raises(TypeError, match="without FreeType"):
        picture.font_of.__wrapped__(20)
