"""What the options of `fit` and `compare` say about the calibrators, checked before any work."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayescal.cli import options
from bayescal.cli.errors import UsageError, blamed_on_use

if TYPE_CHECKING:
    from bayescal.plain_calibrator import PlainCalibrator


# How tables call what each inference gives.
POINT_NAMES = {"mle": "MLE", "map": "MAP", "nuts": "posterior", "exact": "posterior"}

SAMPLER_ADVICE = "Options for this: --tune, --draws, --chains, --target-accept."
SCORES_ADVICE = "Options for this: --positive, --scores-are."


def option_advice(category: type[Warning]) -> str:
    """Return which options help against a kind of warning."""
    from bayescal.results.diagnostics import ConvergenceWarning
    from bayescal.score_checks import ScoresWarning

    if issubclass(category, ConvergenceWarning):
        return SAMPLER_ADVICE
    return SCORES_ADVICE if issubclass(category, ScoresWarning) else ""


def check_at_least(least: int, **numbers: int) -> None:
    """Raise UsageError unless every named number is large enough."""
    for name, number in numbers.items():
        if number < least:
            raise UsageError(f"{name} must be at least {least}, got {number}.")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """
    The options that make a calibrator; see `cli.options`.

    The seed is that of every topic: its result does not depend on which others are in the file.
    """

    scores_are: options.ScoresAre = "auto"
    family: options.Family = None
    parts: options.Parts = "auto"
    inference: options.Inference = None
    model: options.Model = None
    jobs: options.Jobs = 1
    draws: options.Draws = 1000
    chains: options.Chains = 4
    tune: options.Tune = 1000
    target_accept: options.TargetAccept = 0.9
    level: options.Level = 0.9
    seed: options.Seed = 0

    @property
    def family_name(self) -> str:
        """Return the family, given or implied by the program."""
        from bayescal.families import FAMILIES
        from bayescal.settings import AUTO

        if self.family is not None:
            return self.family
        return str(self.model) if self.model in FAMILIES else AUTO

    @property
    def part_names(self) -> list[str]:
        """Return the parts asked for."""
        return [name.strip() for name in self.parts.split(",")]

    @property
    def inference_name(self) -> str:
        """Return the inference, given or implied by a program."""
        from bayescal.settings import AUTO, resolve_inference

        given = AUTO if self.inference is None else str(self.inference)
        return resolve_inference(given, self.model)

    def check(self) -> None:
        """
        Check what can be checked without scores; a program is loaded, which runs it.

        Raises
        ------
        UsageError
            If an option is out of range, or a program cannot be used.
        """
        from bayescal import programs
        from bayescal.settings import SCORES_ARE, family_names, modern_names, part_names
        from bayescal.validation import check_choice, check_fraction

        check_at_least(1, **{"--draws": self.draws, "--chains": self.chains, "--jobs": self.jobs})
        check_at_least(0, **{"--tune": self.tune, "--seed": self.seed})
        with warnings.catch_warnings(), blamed_on_use():
            # Of names that have changed the fit itself warns, where warnings are shown as ours.
            warnings.simplefilter("ignore", FutureWarning)
            for name in self.part_names:
                check_choice("--parts", name, part_names())
            check_choice("--family", modern_names(self.parts, self.family_name)[1], family_names())
            check_choice("--scores-are", self.scores_are, SCORES_ARE)
            check_fraction(**{"--level": self.level, "--target-accept": self.target_accept})
        if self.model is not None and self.inference_name in ("exact", "mle"):
            raise UsageError(
                f"--model needs --inference nuts or map, got --model {self.model} with"
                f" {self.inference_name}, which uses --family only."
            )
        if self.model is not None:
            with blamed_on_use("--model: "):
                programs.load(self.model)

    def calibrator(self, **others: Any) -> PlainCalibrator:
        """Return an unfitted calibrator of one problem; `others` replace its arguments."""
        from bayescal.plain_calibrator import PlainCalibrator

        return PlainCalibrator(**(self.arguments() | others))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a calibrator of one problem."""
        arguments: dict[str, Any] = {
            "family": self.family_name,
            "parts": self.part_names[0] if len(self.part_names) == 1 else self.part_names,
            "inference": self.inference_name,
            "program": self.model,
            "scores_are": self.scores_are,
            "draws": self.draws,
            "chains": self.chains,
            "random_state": self.seed,
        }
        if self.inference_name == "nuts":
            arguments["sampler_options"] = {
                "tune": self.tune,
                "target_accept": self.target_accept,
            }
        return arguments
