"""A network of timm, trained on the batches of a prefetching loader."""

import timm
import torch
from PIL import Image
from sklearn.datasets import load_digits
from timm.data import create_loader

from prorandconv.integrations.timm import augmented


class Digits(torch.utils.data.Dataset):
    transform = None  # set by timm

    def __init__(self, part):
        digits = load_digits()
        self.images, self.labels = (digits.images * 15.9).astype("uint8")[part], digits.target[part]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, n):
        image = Image.fromarray(self.images[n]).resize((32, 32)).convert("RGB")
        return self.transform(image), self.labels[n]


torch.manual_seed(0)
network = timm.create_model("test_resnet", num_classes=10)
loader = create_loader(  # normalises with ImageNet's statistics
    Digits(slice(0, 256)),
    input_size=(3, 32, 32),
    batch_size=64,
    is_training=True,
    no_aug=True,
    num_workers=0,
    persistent_workers=False,
    device=torch.device("cpu"),
)
optimiser = torch.optim.AdamW(network.parameters(), lr=2e-3)

for _ in range(4):
    for images, target in augmented(loader, strategy="both"):
        loss = torch.nn.functional.cross_entropy(network(images), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
print("it learns:", loss.item() < 2)

epoch = [images.chunk(2) for images, _ in augmented(loader, strategy="both")]
for name, parts in zip(("originals", "augmented"), zip(*epoch, strict=True), strict=True):
    pixels = torch.cat(parts)
    print(f"{len(pixels)} {name}, from {pixels.min():.1f} to {pixels.max():.1f}")
