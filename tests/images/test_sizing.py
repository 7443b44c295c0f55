"""Images as the model takes them, with Pillow and without."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from image_kit import block, made, size
from joey.images.limits import ImageLimits
from joey.images.sizing import header_of, resize_image, resize_images
from joey.messages import ImageBlock, TextBlock
from joey.system.installation import add_extra

STARTS = [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF1234WEBPVP8X"]
HUGE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (50_000).to_bytes(4, "big") * 2 + b"\x08\2\0\0\0"
SMALL = ImageLimits(max_side=100, refused_side=400, refused_bytes=40_000)


@pytest.mark.parametrize(
    ("kind", "options", "media_type"),
    [
        ("PNG", {}, "image/png"),
        ("GIF", {}, "image/gif"),
        ("JPEG", {}, "image/jpeg"),
        ("JPEG", {"progressive": True, "exif": b"Exif\0\0" + b"x" * 3000}, "image/jpeg"),
        ("WEBP", {}, "image/webp"),
        ("WEBP", {"lossless": True}, "image/webp"),
        ("WEBP", {"exif": b"Exif\0\0II"}, "image/webp"),
    ],
)
def test_kind_and_size_are_read_from_the_first_bytes(kind: str, options: dict[str, Any], media_type: str) -> None:
    assert header_of(made(321, 123, kind, **options)) == (media_type, 321, 123)


@pytest.mark.property
@given(st.binary(max_size=200), st.sampled_from(STARTS))
def test_no_bytes_break_the_reader(data: bytes, start: bytes) -> None:
    found = header_of(start + data)
    assert found is None or (found.width > 0 and found.height > 0)
    assert isinstance(resize_image(block(start + data), SMALL), (ImageBlock, TextBlock))


def test_what_matches_is_left_as_it_is() -> None:
    image = block(made(100, 80))
    assert resize_image(image, SMALL) is image
    words = TextBlock("hello")
    assert resize_images([words, image], SMALL) == (words, image)


def test_a_wrong_label_is_put_right() -> None:
    assert resize_image(block(made(10, 10, "JPEG"), "image/png"), SMALL) == block(made(10, 10, "JPEG"), "image/jpeg")


def test_a_large_image_becomes_as_large_as_the_model_looks_at() -> None:
    smaller = resize_image(block(made(1000, 250)), SMALL)
    assert isinstance(smaller, ImageBlock) and size(smaller) == (100, 25) and smaller.media_type == "image/png"


def test_a_photograph_stays_one_and_is_turned_as_it_was_taken() -> None:
    sideways = made(1000, 500, "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0")
    smaller = resize_image(block(sideways, "image/jpeg"), SMALL)
    assert isinstance(smaller, ImageBlock) and size(smaller) == (50, 100) and smaller.media_type == "image/jpeg"


def test_many_bytes_in_few_pixels_become_fewer() -> None:
    noisy = block(made(400, 400, noise=True, mode="RGBA"))
    smaller = resize_image(noisy, ImageLimits(max_side=400, refused_bytes=200_000))
    assert len(noisy.data) > 200_000
    assert isinstance(smaller, ImageBlock) and len(smaller.data) <= 200_000 and smaller.media_type == "image/jpeg"


@pytest.mark.parametrize("mode", ["P", "L", "LA", "1", "I;16", "RGBA"])
def test_any_kind_of_colours_can_be_made_smaller(mode: str) -> None:
    smaller = resize_image(block(made(300, 300, mode=mode)), SMALL)
    assert isinstance(smaller, ImageBlock) and size(smaller) == (100, 100)


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (ImageBlock("image/png", "not base64!"), "its data is damaged"),
        (block(b"BM" + b"\0" * 60, "image/bmp"), "it is no png, jpeg, gif or webp"),
        (block(made(500, 500)[:300]), "could not be made smaller"),
        (block(HUGE), "too many pixels"),
    ],
)
def test_what_cannot_be_shown_is_named_with_the_reason(image: ImageBlock, why: str) -> None:
    note = resize_image(image, SMALL)
    assert isinstance(note, TextBlock) and note.text.startswith("[Left out here: an image (") and why in note.text


def test_without_pillow_what_the_model_takes_is_passed_on_and_the_rest_is_named() -> None:
    large = block(made(300, 200))
    assert resize_image(large, SMALL, shrinks=False) == large
    for refused in (block(made(500, 10)), block(made(200, 200, noise=True))):
        note = resize_image(refused, SMALL, shrinks=False)
        assert isinstance(note, TextBlock) and f"`{add_extra('images')}` makes images smaller" in note.text


def test_a_real_screenshot_of_a_large_screen_is_small_enough_for_every_provider() -> None:
    smaller = resize_image(block(made(3840, 2160)), ImageLimits())
    assert isinstance(smaller, ImageBlock) and size(smaller) == (1568, 882)
    assert len(base64.b64decode(smaller.data)) < 1024 * 1024
