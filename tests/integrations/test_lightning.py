"""Lightning's Trainer: training batches are augmented, all others are not."""

import doctest
import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import prorandconv as prc
from prorandconv.integrations.batches import BatchAugmentation

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
IMAGES = torch.rand(6, 3, 8, 8, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(6)


@pytest.fixture(scope="module")
def lightning():
    return pytest.importorskip("lightning", reason="pip install 'prorandconv[lightning]'")


@pytest.fixture(scope="module")
def adapter(lightning):
    from prorandconv.integrations import lightning as adapter

    return adapter


@pytest.fixture(scope="module")
def Recorder(lightning):  # noqa: N802
    class Recorder(lightning.LightningModule):
        """Remembers the batches that each of its steps got."""

        def __init__(self, fails=False):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(()))
            self.fails, self.seen = fails, {}

        def _step(self, batch, _):
            stage = self.trainer.state.stage.value
            self.seen.setdefault(stage, []).append(batch)
            if self.fails:
                raise RuntimeError("on purpose")
            return self.weight * 0

        training_step = validation_step = test_step = predict_step = _step

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return Recorder


@pytest.fixture
def trainer(lightning):
    def made(*callbacks):
        return lightning.Trainer(
            max_epochs=1,
            accelerator="cpu",
            callbacks=list(callbacks),
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
        )

    return made


def loader():
    return DataLoader(TensorDataset(IMAGES, LABELS), batch_size=3)


@pytest.mark.parametrize("strategy", ["both", "augmented", 0.0])
def test_training_step_gets_what_the_strategy_selects(adapter, Recorder, trainer, strategy):
    recorder = Recorder()
    trainer(adapter.AugmentTraining(strategy=strategy)).fit(recorder, loader())
    batches = recorder.seen["train"]
    assert len(batches) == 2
    for (images, labels), x, y in zip(batches, IMAGES.split(3), LABELS.split(3), strict=True):
        changed = images
        if strategy == "both":
            assert torch.equal(images[:3], x)
            changed = images[3:]
        assert not torch.isclose(changed, x).flatten(1).all(1).any()
        assert labels.tolist() == y.tolist() * (len(images) // 3)


def test_batches_of_all_other_stages_stay_as_they_are(adapter, Recorder, trainer):
    recorder, used = Recorder(), trainer(adapter.AugmentTraining())
    used.fit(recorder, loader(), loader())
    used.validate(recorder, loader(), verbose=False)
    used.test(recorder, loader(), verbose=False)
    used.predict(recorder, loader())
    assert [len(images) for images, _ in recorder.seen.pop("train")] == [6, 6]
    assert {stage: len(batches) for stage, batches in recorder.seen.items()} == {
        "sanity_check": 2,
        "validate": 4,
        "test": 2,
        "predict": 2,
    }
    for batches in recorder.seen.values():
        for (images, labels), number in zip(batches, (0, 1) * 2, strict=False):
            assert torch.equal(images, IMAGES.split(3)[number])
            assert torch.equal(labels, LABELS.split(3)[number])


def test_images_of_a_dictionary_have_a_key(adapter, Recorder, trainer):
    samples = [{"image": x, "label": y} for x, y in zip(IMAGES, LABELS, strict=True)]
    recorder = Recorder()
    trainer(adapter.AugmentTraining(images="image")).fit(
        recorder, DataLoader(samples, batch_size=6)
    )
    (batch,) = recorder.seen["train"]
    assert batch["image"].shape == (12, 3, 8, 8)
    assert batch["label"].tolist() == LABELS.tolist() * 2


@pytest.fixture
def recipe():
    """The class of the page that is inherited beside LightningModule."""
    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    (block,) = re.findall(r"```python\n([^`]*class AugmentedBatches[^`]*)```", page)
    exec(block, space := {})
    return space["AugmentedBatches"]


def test_recipe_of_the_page_augments_training_only(recipe, Recorder, trainer):
    recorder = type("Augmented", (recipe, Recorder), {})()
    trainer().fit(recorder, loader(), loader())
    sizes = {stage: {len(x) for x, _ in batches} for stage, batches in recorder.seen.items()}
    assert sizes == {"sanity_check": {3}, "train": {6}, "validate": {3}}


def test_by_hand_a_hook_that_does_not_ask_augments_validation_too(Recorder, trainer):
    class Careless(Recorder):
        def on_after_batch_transfer(self, batch, dataloader_idx):
            return BatchAugmentation()(batch)

    recorder = Careless()
    trainer().fit(recorder, loader(), loader())
    assert {len(images) for images, _ in recorder.seen["validate"]} == {6}


def test_given_augmentation_is_used(adapter, Recorder, trainer):
    class Grey(prc.ProRandConv):
        def forward(self, images):
            return torch.full_like(images, 0.25)

    recorder = Recorder()
    trainer(adapter.AugmentTraining(Grey(), "augmented")).fit(recorder, loader())
    assert {batch[0].unique().item() for batch in recorder.seen["train"]} == {0.25}


def test_second_fit_of_a_trainer_is_not_augmented_twice(adapter, Recorder, trainer):
    recorder, used = Recorder(), trainer(adapter.AugmentTraining())
    used.fit(recorder, loader())
    used.fit_loop.max_epochs = 2
    used.fit(recorder, loader())
    assert [len(images) for images, _ in recorder.seen["train"]] == [6, 6, 6, 6]


def test_trainer_is_left_as_it_was_after_an_error(adapter, Recorder, trainer):
    used = trainer(adapter.AugmentTraining())
    with pytest.raises(RuntimeError, match="on purpose"):
        used.fit(Recorder(fails=True), loader())
    assert "training_step" not in vars(used.strategy)


def test_callback_is_one_of_the_library_that_is_imported(adapter, monkeypatch):
    other = ModuleType("pytorch_lightning")
    other.Callback = type("Callback", (), {})
    name = "prorandconv.integrations.lightning"
    for loaded in [m for m in sys.modules if m == name or m.split(".")[0] == "lightning"]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, "pytorch_lightning", other)
    assert issubclass(importlib.import_module(name).AugmentTraining, other.Callback)


def test_example_of_the_docstring_works(adapter):
    assert doctest.testmod(adapter) == (0, 3)
