// The pages of likelihood ratios, of rates and of reviews.

drawEvidence();
followAppearance(drawEvidence);
