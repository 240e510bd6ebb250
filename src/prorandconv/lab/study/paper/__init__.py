"""The paper's tables and figures, and one beyond them, as grids of runs, one file each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....lazy import named
from ...errors import unknown_name

if TYPE_CHECKING:  # the list must not wait for data and networks
    from ..plan import Study


@dataclass(frozen=True)
class Listed:
    """A study as a list shows it, known before the study is imported."""

    module: str
    """the file beside this one, with a ``STUDY``"""
    shows: str
    """what a reader learns from it"""
    reference: str
    """tables and figures of the paper"""
    runs: int
    """runs of one seed where all data is present"""


STUDIES = {
    "digits": Listed("digits", "five methods, trained on MNIST, by target", "Tables 1 and 11", 5),
    "pacs-single": Listed("pacs_single", "the methods on PACS, by the one source", "Table 2", 48),
    "pacs-multi": Listed("pacs_multi", "five methods on PACS, one domain left out", "Table 3", 40),
    "comparison": Listed(
        "comparison",
        "RandConv and Pro-RandConv: 3 benchmarks × 3 networks × single, multi",
        "Table 4",
        144,
    ),
    "efficiency": Listed(
        ".efficiency", "memory, time and MACs of each method, on this device", "Table 5", 0
    ),
    "segmentation": Listed(
        "segmentation",
        "methods for segmentation, by target; two whose labels move",
        "Table 6",
        8,
    ),
    "selection": Listed(
        "selection", "eight ways of choosing images, in- and out-of-domain", "Table 7", 45
    ),
    "components": Listed("components", "all 16 rows of the component table", "Table 8", 144),
    "traditional": Listed(
        "traditional",
        "six traditional augmentations and ours, Digits and PACS",
        "Tables 9 and 10",
        40,
    ),
    "receptive-field": Listed(
        "receptive_field",
        "kernel size of RandConv against repetitions of the progressive methods",
        "Figures 1(c) and 5",
        105,
    ),
    "smoothing": Listed(
        "smoothing", "RandConv with and without a Gaussian-smoothed kernel", "Figure 6", 70
    ),
    "hyperparameters": Listed(
        "hyperparameters",
        "L_max, σ_γ, σ_β, b_g, b_Δ and α, each by itself",
        "supplementary figure",
        135,
    ),
    "bounds": Listed("bounds", "three bounds of the plain progressive variants", "Table 1", 6),
    "usps": Listed(".usps", "USPS drawn into smaller boxes within the frame", "Table 1", 2),
    "beyond": Listed(
        "beyond",
        "consistency, jitter and averages of weights joined to Pro-RandConv; two selections",
        "none: beyond the paper",
        9,
    ),
}


def get_study(name: str) -> Study:
    """A study by its name.

    Example:
        >>> from prorandconv.lab.study.settings import Settings
        >>> [table.name for table in get_study("digits").plan(Settings(everything=True))]
        ['digits', 'mnist-m']
    """
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    study: Study = named(f"{STUDIES[name].module}:STUDY", __name__)
    return study
