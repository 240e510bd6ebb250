"""Segmentation: trained on GTAV, measured on real streets and other games (Table 6)."""

from __future__ import annotations

from ....errors import ProRandConvError
from ...paper import Row, rows_of
from ..plan import PlannedTable, Study
from ..scenario import Scenarios
from ..settings import Settings

BEYOND = (Row("Ours-D, labels moved", "ours-move"), Row("Ours, shared offsets", "ours-shared"))
"""What the paper expects more of, and has not tried."""


def plan(settings: Settings) -> tuple[PlannedTable, ...]:
    """The paper's rows that can be trained here and two more, by target."""
    scenario = Scenarios.of(settings, "gtav").usable[0]
    if scenario.benchmark.task != "segmentation":
        raise ProRandConvError.about(
            "--benchmark", scenario.name, "scenes with masks: gtav, street, segfolder, shapes-mini"
        )
    return (
        PlannedTable.of(
            scenario.name,
            f"Trained on {scenario.sources[0]} with {scenario.network}; mIoU on unseen domains",
            "Table 6",
            (*scenario.with_figures(rows_of("Table 6"), "Table 6"), *BEYOND),
            scenario.by_target(),
            averaged=True,
            notes=(
                *scenario.notes,
                "labels moved: the ground truth moves with the picture, which the paper has not "
                "tried; shared offsets: one field for all taps, for which that is exact",
            ),
        ),
    )


STUDY = Study(plan)
