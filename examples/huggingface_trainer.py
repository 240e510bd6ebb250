"""A small ResNet of transformers, trained on a data set of datasets."""

import torch
from datasets import Dataset
from PIL import Image
from sklearn.datasets import load_digits
from torchvision.transforms.v2.functional import normalize, pil_to_tensor
from transformers import (
    PrinterCallback,
    ResNetConfig,
    ResNetForImageClassification,
    TrainingArguments,
)

from prorandconv.integrations.huggingface import AugmentedTrainer

digits = load_digits()
pictures = [Image.fromarray((d * 15.9).astype("uint8")).resize((24, 24)) for d in digits.images]
data = Dataset.from_dict({"image": pictures, "labels": digits.target})


def prepare(samples, sign=1):
    images = [normalize(pil_to_tensor(i) / 255, [0.5], [0.5]) * sign for i in samples["image"]]
    return {"pixel_values": images, "labels": samples["labels"]}


train, test = data.select(range(900)), data.select(range(900, 1200))
train.set_transform(prepare)
kinds = {
    "the same kind": test.with_transform(prepare),
    "inverted": test.with_transform(lambda samples: prepare(samples, sign=-1)),
}
small = {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "layer_type": "basic"}
config = ResNetConfig(num_channels=1, num_labels=10, **small)
options = TrainingArguments(
    num_train_epochs=6,
    per_device_train_batch_size=32,
    learning_rate=5e-3,
    remove_unused_columns=False,  # or "image" is gone before prepare sees it
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
    use_cpu=True,
)
for strategy in ("original", "both"):
    torch.manual_seed(0)
    network = ResNetForImageClassification(config)
    trainer = AugmentedTrainer(network, options, train_dataset=train, strategy=strategy)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    found = []
    for name, images in kinds.items():
        result = trainer.predict(images)
        correct = (result.predictions.argmax(1) == result.label_ids).mean()
        found.append(f"{name} {100 * correct:.0f} % of {len(result.label_ids)}")
    print(f"{strategy}:", ", ".join(found))
