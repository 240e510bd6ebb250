"""USPS drawn into smaller boxes: what is drawn, and what the study makes of it."""

import torch

from prorandconv.lab.study.usps import boxed, eroded, faint


def test_a_box_lies_in_the_middle_of_a_black_frame():
    drawn = boxed(torch.full((1, 1, 16, 16), 200, dtype=torch.uint8), 32, 22)
    expected = torch.zeros(1, 1, 32, 32, dtype=torch.uint8)
    expected[..., 5:27, 5:27] = 200
    assert torch.equal(drawn, expected)


def test_the_box_of_the_whole_frame_is_the_image_itself():
    image = torch.arange(32 * 32).remainder(251).to(torch.uint8).view(1, 1, 32, 32)
    assert torch.equal(boxed(image, 32, 32), image)


def test_erosion_takes_a_pixel_from_every_stroke():
    image = torch.zeros(1, 1, 8, 8, dtype=torch.uint8)
    image[..., 2:6, 3:6] = 255
    expected = torch.zeros_like(image)
    expected[..., 2:5, 3:5] = 255
    assert torch.equal(eroded(image), expected)


def test_a_faint_image_keeps_its_black():
    image = torch.tensor([0, 100, 200], dtype=torch.uint8).view(1, 1, 1, 3)
    assert faint(image).flatten().tolist() == [0, 30, 60]
