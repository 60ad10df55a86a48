"""Drawn images: landscapes for photos, street maps, products, wallpapers. A name in, pixels out, always the same."""

from functools import lru_cache

from PIL import Image, ImageDraw

from distrl.core.seeds import derive_random, derive_seed
from distrl.devices.sim.fonts import icon_mask
from distrl.devices.sim.theme import Rgb, mix, resolve

_SKIES = [("#4A90D9", "#CFE8FF"), ("#F2994A", "#FDE2B8"), ("#5B4B8A", "#F4A6A0"), ("#2B5876", "#8FB8DE")]
_LANDS = ["#2E7D32", "#558B2F", "#8D6E63", "#C9A66B", "#37474F", "#00695C"]
WALLPAPERS = [("#1D3B7A", "#5873BE"), ("#3A1C5A", "#B0628C"), ("#0F4C4A", "#6FB3A0"), ("#4A2C2A", "#D08A5B")]


@lru_cache(maxsize=16)
def _strip(top: Rgb, bottom: Rgb) -> Image.Image:
    strip = Image.new("RGB", (1, 64))
    strip.putdata([mix(top, bottom, i / 63) for i in range(64)])
    return strip


def gradient(size: tuple[int, int], top: Rgb, bottom: Rgb) -> Image.Image:
    """A vertical gradient."""
    return _strip(top, bottom).resize(size, Image.Resampling.BILINEAR)


@lru_cache(maxsize=16)
def wallpaper(index: int, width: int, height: int) -> Image.Image:
    """The background of the launcher."""
    top, bottom = (resolve(color, False) for color in WALLPAPERS[index % len(WALLPAPERS)])
    image = gradient((width, height), top, bottom)
    draw = ImageDraw.Draw(image, "RGBA")
    for k in range(3):
        y = height * (0.62 + 0.13 * k)
        draw.ellipse((-width * (0.6 - 0.3 * k), y, width * (1.1 + 0.35 * k), y + height), fill=(255, 255, 255, 10))
    return image


def picture(kind: str, detail: str, width: int, height: int) -> Image.Image:
    """The image of this name at this size: there are 64 landscapes and 8 maps, and a name always means the same one."""
    size = (max(width, 1), max(height, 1))
    if kind == "photo":
        return _photo(derive_seed(0, detail) % 64, size)
    if kind == "map":
        return _map(derive_seed(0, detail) % 8, size)
    return _product(detail, size)


@lru_cache(maxsize=128)
def _photo(number: int, size: tuple[int, int]) -> Image.Image:
    rng = derive_random(number, "photo")
    width, height = size[0] * 2, size[1] * 2
    top, bottom = (resolve(color, False) for color in rng.choice(_SKIES))
    image = gradient((width, height), top, bottom)
    draw = ImageDraw.Draw(image)
    radius = height * rng.uniform(0.06, 0.11)
    x, y = width * rng.uniform(0.15, 0.85), height * rng.uniform(0.12, 0.35)
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=(255, 244, 214))
    land = resolve(rng.choice(_LANDS), False)
    for layer in range(3):
        base = height * (0.55 + 0.15 * layer)
        points: list[tuple[float, float]] = [(0, height)]
        points += [(width * k / 6, base + height * rng.uniform(-0.13, 0.06)) for k in range(7)]
        draw.polygon([*points, (width, height)], fill=mix(mix(land, bottom, 0.45), land, layer / 2))
    return image.reduce(2)


@lru_cache(maxsize=32)
def _map(number: int, size: tuple[int, int]) -> Image.Image:
    rng = derive_random(number, "map")
    width, height = size[0] * 2, size[1] * 2
    image = Image.new("RGB", (width, height), "#F1EEE6")
    draw = ImageDraw.Draw(image)
    draw.ellipse((width * 0.55, height * 0.6, width * 1.3, height * 1.1), fill="#AADAFF")
    for _ in range(3):
        x, y = rng.uniform(0, width), rng.uniform(0, height)
        draw.rounded_rectangle((x, y, x + width * 0.22, y + height * 0.12), radius=12, fill="#CBE6C3")
    for k in range(9):
        thick = 14 if k % 4 == 0 else 6
        color = "#F9D67A" if k % 4 == 0 else "#FFFFFF"
        slope = rng.uniform(-0.2, 0.2)
        at = (k + rng.random()) / 9
        draw.line((0, height * at, width, height * (at + slope)), fill=color, width=thick)
        draw.line((width * at, 0, width * (at - slope), height), fill=color, width=thick)
    return image.reduce(2)


@lru_cache(maxsize=512)
def _product(detail: str, size: tuple[int, int]) -> Image.Image:
    """`detail` is "icon:colour": the thing in its colour on pale grey."""
    name, _, color = detail.partition(":")
    image = Image.new("RGB", size, "#F1F3F4")
    side = int(min(size) * 0.7)
    mask = icon_mask(name, max(side, 1))
    image.paste(resolve(color or "#37474F", False), ((size[0] - side) // 2, (size[1] - side) // 2), mask)
    return image
