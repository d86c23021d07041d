"""Action items in e-mail (dissertation, chapter 10) on sentences that can be had.

Its corpus, 744 e-mails of volunteers, is not public. `corpus` reads labelled sentences of e-mail in
its place, `views` makes ten classifiers of them, `trials` deals and combines, `table` measures and
`comparisons` sets what gained over what beside the `published` figures.
"""
