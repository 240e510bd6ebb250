"""Hugging Face's Trainer: it trains on augmented batches, and evaluates on images as they are."""

import pickle

import pytest
import torch

import prorandconv as prc

IMAGES = torch.rand(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))
SAMPLES = [{"pixel_values": x, "labels": n} for n, x in enumerate(IMAGES)]


class Recorder(torch.nn.Module):
    """Remembers the batches that it got in training and in evaluations."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.seen = {True: [], False: []}

    def forward(self, pixel_values, labels):
        self.seen[self.training].append((pixel_values, labels))
        return {"loss": self.weight * 0, "logits": torch.zeros(len(labels), 2)}


@pytest.fixture(scope="module")
def transformers():
    return pytest.importorskip("transformers", reason="pip install 'prorandconv[huggingface]'")


@pytest.fixture(scope="module")
def adapter(transformers):
    from prorandconv.integrations import huggingface

    return huggingface


@pytest.fixture
def data():
    datasets = pytest.importorskip("datasets", reason="pip install 'prorandconv[huggingface]'")
    stored = datasets.Dataset.from_dict({"image": IMAGES.tolist(), "labels": list(range(4))})
    return stored.with_transform(
        lambda found: {
            "pixel_values": [torch.tensor(image) for image in found["image"]],
            "labels": found["labels"],
        }
    )


def test_collator_augments_and_repeats_labels(adapter):
    batch = adapter.AugmentingCollator()(SAMPLES)
    assert torch.equal(batch["pixel_values"][:4], IMAGES)
    assert not torch.isclose(batch["pixel_values"][4:], IMAGES).all()
    assert batch["labels"].tolist() == [0, 1, 2, 3] * 2


def test_collator_takes_another_that_makes_the_batch(adapter):
    def collate(samples):
        return {"image": torch.stack([s["pixel_values"] for s in samples]), "names": ["x"] * 4}

    batch = adapter.AugmentingCollator(strategy="augmented", images="image", collate=collate)(
        SAMPLES
    )
    assert batch["image"].shape == IMAGES.shape
    assert not torch.isclose(batch["image"], IMAGES).all()
    assert batch["names"] == ["x"] * 4


def test_collator_can_be_sent_to_workers(adapter):
    copied = pickle.loads(pickle.dumps(adapter.AugmentingCollator(prc.ProRandConv(max_repeats=3))))
    assert copied(SAMPLES)["labels"].tolist() == [0, 1, 2, 3] * 2


@pytest.fixture
def options(transformers, tmp_path):
    return transformers.TrainingArguments(
        str(tmp_path),
        num_train_epochs=2,
        per_device_train_batch_size=2,
        per_device_eval_batch_size=2,
        eval_strategy="epoch",
        save_strategy="no",
        remove_unused_columns=False,
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )


def test_trainer_augments_training_batches_only(adapter, data, options):
    network = Recorder()
    trainer = adapter.AugmentedTrainer(network, options, train_dataset=data, eval_dataset=data)
    trainer.train()
    trainer.predict(data)
    assert [len(images) for images, _ in network.seen[True]] == [4, 4, 4, 4]
    for images, labels in network.seen[True]:
        assert torch.equal(images[:2], IMAGES[labels[:2]])
        assert not torch.isclose(images[2:], IMAGES[labels[2:]]).all()
    assert len(network.seen[False]) == 6
    for images, labels in network.seen[False]:
        assert torch.equal(images, IMAGES[labels])


def test_by_hand_a_trainer_with_the_collator_evaluates_on_augmented_images(
    adapter, transformers, data, options
):
    network = Recorder()
    transformers.Trainer(
        network, options, eval_dataset=data, data_collator=adapter.AugmentingCollator()
    ).evaluate()
    assert [len(images) for images, _ in network.seen[False]] == [4, 4]
