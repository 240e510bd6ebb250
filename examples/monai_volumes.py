"""Scans with a depth and their labels, augmented together in a MONAI pipeline."""

import numpy as np
import torch
from monai.data import DataLoader, Dataset, create_test_image_3d
from monai.transforms import Compose, EnsureChannelFirstd, NormalizeIntensityd, RandFlipd
from monai.utils import set_determinism

from prorandconv.integrations.monai import RandProRandConvd

scans = []
for seed in range(4):
    scan, organs = create_test_image_3d(
        24, 32, 28, num_seg_classes=3, rad_max=8, random_state=np.random.RandomState(seed)
    )
    scans.append({"scan": scan.astype("float32"), "organs": organs.astype("uint8")})

pipeline = Compose(
    [
        EnsureChannelFirstd(["scan", "organs"], channel_dim="no_channel"),
        NormalizeIntensityd("scan", subtrahend=0.5, divisor=0.5),
        RandFlipd(["scan", "organs"], prob=0.5, spatial_axis=0),
        RandProRandConvd("scan", label_keys="organs", labels="warp", ignore_index=0),
    ]
)


def batches():
    """All scans, once, from the same seed."""
    set_determinism(seed=0)
    return list(DataLoader(Dataset(scans, pipeline), batch_size=2))


first, second = batches(), batches()
for batch in first:
    print(
        f"scans {tuple(batch['scan'].shape)} from {batch['scan'].min():.2f} to "
        f"{batch['scan'].max():.2f}, organs {sorted(set(batch['organs'].flatten().tolist()))}"
    )
print("meta data is kept:", "affine" in first[0]["scan"].meta)
same = all(torch.equal(a["scan"], b["scan"]) for a, b in zip(first, second, strict=True))
print("the same seed, the same scans:", same)
