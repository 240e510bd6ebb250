"""A LightningModule that knows nothing of the augmentation, trained without and with it."""

import logging
import warnings

import lightning
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from prorandconv.integrations.lightning import AugmentTraining

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning")
digits = load_digits()
images = nn.functional.interpolate(torch.tensor(digits.images).float()[:, None], size=16) / 8 - 1
labels = torch.tensor(digits.target)
train = TensorDataset(images[:1200], labels[:1200])
unseen = {"the same kind": images[1200:], "inverted": -images[1200:]}


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(32 * 16, 10)),
        )

    def training_step(self, batch):
        images, labels = batch
        return nn.functional.cross_entropy(self.network(images), labels)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=5e-3)


for name, callbacks in {"ERM": [], "Pro-RandConv": [AugmentTraining(strategy="both")]}.items():
    lightning.seed_everything(0, verbose=False)
    trainer = lightning.Trainer(
        max_epochs=8,
        callbacks=callbacks,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = Classifier()
    trainer.fit(model, DataLoader(train, batch_size=32, shuffle=True))
    with torch.no_grad():
        correct = {k: (model.network(x).argmax(1) == labels[1200:]) for k, x in unseen.items()}
    print(f"{name}:", ", ".join(f"{k} {100 * c.float().mean():.0f} %" for k, c in correct.items()))
