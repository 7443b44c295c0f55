from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox_kit import World, a_world, need_visible_checkout


@pytest.fixture(autouse=True)
def visible_checkout() -> None:
    need_visible_checkout()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with a_world() as made:
        yield made
