"""A cat and a mask of it, augmented in an albumentations pipeline, also by workers."""

import albumentations as A
import numpy as np
import torch
from skimage import data
from torch.utils.data import DataLoader, Dataset, get_worker_info

from prorandconv.integrations.albumentations import RandomProRandConv

cat = data.chelsea()[::2, ::2].copy()
mask = np.digitize(cat[..., 0], (64, 128, 192)).astype(np.uint8)  # four classes, by redness


def pipeline(kind=A.Compose, **options):
    return kind([A.HorizontalFlip(p=0.5), RandomProRandConv(labels="warp")], **options)


first, second = (pipeline(seed=0)(image=cat, mask=mask) for _ in range(2))
print(f"image: {first['image'].dtype} {first['image'].shape}")
print(f"mask: {first['mask'].dtype}, classes {np.unique(first['mask']).tolist()}")
print("the same seed, the same picture:", np.array_equal(first["image"], second["image"]))

result = pipeline(A.ReplayCompose)(image=cat, mask=mask)
again = A.ReplayCompose.replay(result["replay"], image=cat, mask=mask)
print("replayed:", all(np.array_equal(result[key], again[key]) for key in ("image", "mask")))


class Cats(Dataset):
    def __init__(self):
        self.transform = pipeline()

    def __len__(self):
        return 4

    def __getitem__(self, n):
        return self.transform(image=cat)["image"]


def new_draws(worker):
    get_worker_info().dataset.transform.set_random_seed(torch.initial_seed() % 2**32)


for start in (None, new_draws):
    loader = DataLoader(Cats(), num_workers=2, worker_init_fn=start)
    pictures = {picture.numpy().tobytes() for _ in range(2) for picture in loader}
    told = "as it is" if start is None else "with new_draws"
    print(f"2 epochs of 4 images, 2 workers, {told}: {len(pictures)} different pictures")
