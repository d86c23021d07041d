// The page of a validation of likelihood ratios.

drawEvidence();
followAppearance(drawEvidence);
