"""Coins and the mask of each, augmented together in a Kornia pipeline."""

import torch
from kornia.augmentation import AugmentationSequential, RandomHorizontalFlip
from skimage import data, measure

from prorandconv.integrations.kornia import RandomProRandConv

torch.manual_seed(0)
picture = torch.from_numpy(data.coins()).float() / 255
coins = torch.from_numpy(measure.label(picture.numpy() > 0.45))  # a number for each
images = picture.unfold(0, 96, 64).unfold(1, 128, 64).reshape(-1, 1, 96, 128)
masks = coins.unfold(0, 96, 64).unfold(1, 128, 64).reshape(-1, 1, 96, 128)

pipeline = AugmentationSequential(
    RandomHorizontalFlip(p=0.5),
    RandomProRandConv(p=0.5, same_on_batch=False, labels="warp", ignore_index=0),
    data_keys=["image", "mask"],
)
changed, moved = pipeline(images, masks)

augmented = sum(pipeline._params[1].data["batch_prob"] > 0.5)
print(f"{len(images)} images, {int(augmented)} of them augmented")
print(f"pixels from {changed.min():.1f} to {changed.max():.1f}")
print(
    f"masks of {moved.dtype}, {len(set(moved.unique().tolist()) - set(masks.unique().tolist()))} "
    "coins that were not there"
)

again = pipeline(images, masks, params=pipeline._params)
print("the same again:", torch.equal(changed, again[0]) and torch.equal(moved, again[1]))
later = pipeline(masks, params=pipeline._params, data_keys=["mask"])
print("masks alone, later:", torch.equal(moved, later))
