"""Two kernels for GPUs, of which one repetition consists.

``convolve`` samples, convolves and takes the statistics of each tile of pixels; ``contrast`` merges
these statistics and does what follows. Statistics are merged in a fixed order and without atomic
additions, so that a replay is the same bit for bit.

Only :mod:`.triton_engine` imports this file, because it needs Triton.
"""

import triton
import triton.language as tl

from .formulas import FAR_AWAY as _FAR_AWAY
from .formulas import INVALID as _INVALID

FAR_AWAY = tl.constexpr(_FAR_AWAY)
INVALID = tl.constexpr(_INVALID)


@triton.jit
def _corner(pixel, share, somewhere, length, PADDING: tl.constexpr):
    """The pixel that stands for this one along an axis, and its share, which is 0 outside."""
    if PADDING == "reflect":
        period = tl.maximum(2 * (length - 1), 1)
        pixel = tl.abs(pixel) % period
        pixel = tl.minimum(pixel, period - pixel)
    inside = somewhere
    if PADDING == "zeros":
        inside = inside & (pixel >= 0) & (pixel < length)
    # A pixel of the image in any case: what has no share is read too, so that no load needs a mask.
    return tl.minimum(tl.maximum(pixel, 0), length - 1), tl.where(inside, share, 0.0)


@triton.jit
def _corners(position, displaced, length, PADDING: tl.constexpr):
    """Both neighbours of a displaced position along an axis, and their shares.

    Only the displacement is split into whole and fraction, so that no precision is lost far from
    the first pixel.
    """
    whole = tl.floor(displaced)
    after = displaced - whole
    reached = position.to(tl.float32) + whole
    somewhere = tl.abs(reached) < FAR_AWAY
    pixel = tl.where(somewhere, reached, INVALID).to(tl.int32)
    first, first_share = _corner(pixel, 1 - after, somewhere, length, PADDING)
    second, second_share = _corner(pixel + 1, after, somewhere, length, PADDING)
    return first, first_share, second, second_share


# Not specialised: neither a side of one pixel nor another number of images is compiled anew.
@triton.jit(do_not_specialize=["count", "height", "width", "tiles_across", "tiles"])
def convolve(
    images,
    weight,
    offsets,
    order,
    result,
    statistics,
    count,
    height,
    width,
    tiles_across,
    tiles,
    C_IN: tl.constexpr,
    C_OUT: tl.constexpr,
    KERNEL_SIZE: tl.constexpr,
    PADDING: tl.constexpr,
    IMAGES: tl.constexpr,
    CHANNELS: tl.constexpr,
    TILE_HEIGHT: tl.constexpr,
    TILE_WIDTH: tl.constexpr,
):
    """Eq. 2 for one tile of pixels, some images and some output channels, all in registers.

    Where a tap falls is worked out once for all IMAGES. With ``order``, images have a draw each,
    IMAGES is 1, and the images to work on are the first ``count`` in that order. ``statistics``
    (N, C_OUT, 2, tiles), if wanted, receive the mean and the sum of squared deviations.
    """
    tile = tl.program_id(0) % tiles
    group = tl.program_id(0) // tiles
    pixels = height.to(tl.int64) * width
    taps: tl.constexpr = KERNEL_SIZE * KERNEL_SIZE

    place = tl.arange(0, TILE_HEIGHT * TILE_WIDTH)
    row = tile // tiles_across * TILE_HEIGHT + place // TILE_WIDTH
    column = tile % tiles_across * TILE_WIDTH + place % TILE_WIDTH
    inside = (row < height) & (column < width)
    row = tl.minimum(row, height - 1)
    column = tl.minimum(column, width - 1)
    pixel = row * width + column

    image = group * IMAGES + tl.arange(0, IMAGES)
    present = image < count
    image = tl.minimum(image, count - 1).to(tl.int64)
    if order is not None:
        own = tl.load(order + group).to(tl.int64)
        image = own + tl.zeros((IMAGES,), tl.int64)
        weight += own * (C_OUT * C_IN * taps)
        if offsets is not None:
            offsets += own * (2 * taps) * pixels
    channel = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)

    source = (images + image * C_IN * pixels)[:, None]
    weight += channel * C_IN * taps
    total = tl.zeros((CHANNELS, IMAGES, TILE_HEIGHT * TILE_WIDTH), tl.float32)
    for tap in range(taps):
        down = tl.zeros(pixel.shape, tl.float32)
        across = down
        if offsets is not None:
            down = tl.load(offsets + 2 * tap * pixels + pixel)
            across = tl.load(offsets + (2 * tap + 1) * pixels + pixel)
        tap_row = row + (tap // KERNEL_SIZE - KERNEL_SIZE // 2)
        tap_column = column + (tap % KERNEL_SIZE - KERNEL_SIZE // 2)
        top, top_share, bottom, bottom_share = _corners(tap_row, down, height, PADDING)
        left, left_share, right, right_share = _corners(tap_column, across, width, PADDING)
        top_left, top_left_share = top * width + left, top_share * left_share
        top_right, top_right_share = top * width + right, top_share * right_share
        bottom_left, bottom_left_share = bottom * width + left, bottom_share * left_share
        bottom_right, bottom_right_share = bottom * width + right, bottom_share * right_share
        for c in range(C_IN):
            plane = source + c * pixels
            sampled = tl.load(plane + top_left) * top_left_share
            sampled += tl.load(plane + top_right) * top_right_share
            sampled += tl.load(plane + bottom_left) * bottom_left_share
            sampled += tl.load(plane + bottom_right) * bottom_right_share
            factor = tl.load(weight + (c * taps + tap), mask=channel < C_OUT, other=0.0)
            total += factor[:, None, None] * sampled

    target = image[None, :] * C_OUT + channel[:, None]
    wanted = present[None, :] & (channel < C_OUT)[:, None]
    at = (result + target * pixels)[:, :, None] + pixel[None, None, :]
    tl.store(at, total, mask=wanted[:, :, None] & inside[None, None, :])
    if statistics is not None:
        number = tl.sum(inside.to(tl.float32))
        mean = tl.sum(tl.where(inside[None, None, :], total, 0.0), 2) / number
        deviation = tl.where(inside[None, None, :], total - mean[:, :, None], 0.0)
        at = statistics + target * 2 * tiles + tile
        tl.store(at, mean, mask=wanted)
        tl.store(at + tiles, tl.sum(deviation * deviation, 2), mask=wanted)


@triton.jit
def _pixels_of(tile, height, width, tiles_across, TILE_HEIGHT, TILE_WIDTH):
    """How many pixels of an image a tile holds; the last ones reach beyond its border."""
    rows = tl.minimum(height - tile // tiles_across * TILE_HEIGHT, TILE_HEIGHT)
    columns = tl.minimum(width - tile % tiles_across * TILE_WIDTH, TILE_WIDTH)
    return (rows * columns).to(tl.float32)


@triton.jit(do_not_specialize=["height", "width", "tiles_across", "tiles"])
def contrast(
    images,
    statistics,
    order,
    gamma,
    beta,
    result,
    height,
    width,
    tiles_across,
    tiles,
    eps,
    C: tl.constexpr,
    TANH: tl.constexpr,
    TILE_HEIGHT: tl.constexpr,
    TILE_WIDTH: tl.constexpr,
    PIXELS: tl.constexpr,
    MERGED: tl.constexpr,
):
    """Eq. 3 for some pixels of one channel of one image: standardise, affine, tanh.

    Every program merges the ``statistics`` of all tiles of its plane, MERGED at a time.
    """
    pixels = height.to(tl.int64) * width
    blocks = tl.cdiv(pixels, PIXELS)
    plane = tl.program_id(0) // blocks
    image = plane // C
    channel = plane % C
    affine = channel
    if order is not None:
        image = tl.load(order + image).to(tl.int64)
        affine = image * C + channel
    plane = image * C + channel

    pixel = tl.program_id(0) % blocks * PIXELS + tl.arange(0, PIXELS)
    value = tl.load(images + plane * pixels + pixel, mask=pixel < pixels, other=0.0)
    if statistics is not None:
        means = statistics + plane * 2 * tiles
        total = 0.0
        for start in range(0, tiles, MERGED):
            tile = start + tl.arange(0, MERGED)
            number = _pixels_of(tile, height, width, tiles_across, TILE_HEIGHT, TILE_WIDTH)
            total += tl.sum(number * tl.load(means + tile, mask=tile < tiles, other=0.0))
        mean = total / pixels.to(tl.float32)
        squares = 0.0
        for start in range(0, tiles, MERGED):
            tile = start + tl.arange(0, MERGED)
            number = _pixels_of(tile, height, width, tiles_across, TILE_HEIGHT, TILE_WIDTH)
            apart = tl.load(means + tile, mask=tile < tiles, other=0.0) - mean
            within = tl.load(means + tiles + tile, mask=tile < tiles, other=0.0)
            squares += tl.sum(tl.where(tile < tiles, within + number * apart * apart, 0.0))
        value = (value - mean) * tl.rsqrt(squares / pixels.to(tl.float32) + eps)
    if gamma is not None:
        value = value * tl.load(gamma + affine) + tl.load(beta + affine)
    if TANH:
        value = 1 - 2 / (1 + tl.exp(2 * value))
    tl.store(result + plane * pixels + pixel, value, mask=pixel < pixels)
