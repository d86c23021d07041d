"""Options of `fit` and `compare` about the calibrators, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayescal.cli import options
from bayescal.cli.command import UsageError, blamed_on_use

if TYPE_CHECKING:
    from bayescal.fitting.settings import Inference, Parts, ScoreParameters


# How tables call what each inference gives.
POINT_NAMES = {"mle": "MLE", "map": "MAP", "nuts": "posterior", "exact": "posterior"}

SAMPLER_ADVICE = "Options for this: --tune, --draws, --chains, --target-accept."
SCORES_ADVICE = "Options for this: --positive, --scores-are."


def option_advice(category: type[Warning]) -> str:
    """Name the options that address a kind of warning."""
    from bayescal.fitting.results.diagnostics import ConvergenceWarning
    from bayescal.support.score_checks import ScoresWarning

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
    def part_names(self) -> list[str]:
        """Return the parts asked for."""
        return [name.strip() for name in self.parts.split(",")]

    @property
    def inference_name(self) -> str:
        """Return the inference, given or implied by a program."""
        if self.inference is not None and str(self.inference) != "auto":
            return str(self.inference)
        return "exact" if self.model is None else "nuts"

    def check(self) -> None:
        """Check what can be checked without scores; a program is loaded, which runs it."""
        from bayescal.distributions import programs
        from bayescal.fitting.parts.combination import COMBINED, PARTS
        from bayescal.fitting.parts.configured import AUTO, family_names
        from bayescal.fitting.settings import SCORES_ARE
        from bayescal.support.validation import check_choice, check_fraction

        check_at_least(1, **{"--draws": self.draws, "--chains": self.chains, "--jobs": self.jobs})
        check_at_least(0, **{"--tune": self.tune, "--seed": self.seed})
        with blamed_on_use():
            for name in self.part_names:
                check_choice("--parts", name, (AUTO, COMBINED, *PARTS))
            check_choice("--family", self.family or AUTO, family_names())
            check_choice("--scores-are", self.scores_are, SCORES_ARE)
            check_fraction(**{"--level": self.level, "--target-accept": self.target_accept})
        parts_of(self.part_names, self.family, self.model)
        if self.model is not None and self.inference_name in ("exact", "mle"):
            raise UsageError(
                f"--model needs --inference nuts or map, got --model {self.model} with"
                f" {self.inference_name}, which uses --family only."
            )
        if self.model is not None:
            with blamed_on_use("--model: "):
                programs.load(self.model)

    def score_parameters(self) -> ScoreParameters:
        """Return the parameters of a fit of one problem."""
        from bayescal.fitting.settings import ScoreParameters

        return ScoreParameters(**self.arguments())

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a calibrator of one problem."""
        return {
            "parts": parts_of(self.part_names, self.family, self.model),
            "inference": self._inference(),
            "scores_are": self.scores_are,
            "draws": self.draws,
            "chains": self.chains,
            "random_state": self.seed,
        }

    def _inference(self) -> Inference:
        from bayescal.fitting.parts.configured import MAP, NUTS

        if self.inference_name == "nuts":
            options = {"tune": self.tune, "target_accept": self.target_accept}
            return NUTS(self.model, sampler_options=options)
        return MAP(self.model) if self.inference_name == "map" else self.inference_name


def parts_of(names: list[str], family: str | None, model: str | None) -> Parts:
    """Return the parts that --parts, --family and --model ask for."""
    from bayescal.families import FAMILIES
    from bayescal.fitting.parts.combination import COMBINED
    from bayescal.fitting.parts.configured import AUTO, Densities

    asked = str(model) if family is None and model in FAMILIES else family
    if asked is None or asked == AUTO:
        return names[0] if len(names) == 1 else names
    densities = Densities(asked)
    if names == [AUTO]:
        return densities
    if COMBINED in names:
        return [*names, densities]
    if family is not None and Densities.name not in names:
        raise UsageError(
            f"--family needs densities or combined among --parts, got --family {family} with"
            f" --parts {','.join(names)}."
        )
    return [densities if name == Densities.name else name for name in names]
