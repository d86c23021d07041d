"""The formulas of models, in MathML."""
