// The pages of likelihood ratios and of rates.

drawEvidence();
followAppearance(drawEvidence);
