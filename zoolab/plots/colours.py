"""The colours of all displays, and the size of small text."""

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
BLUE, SKY, GREEN, ORANGE, RED, PINK = "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7"
INK, GREY, PALE = "#222222", "#767676", "#EEEEEE"

SMALL = 8
