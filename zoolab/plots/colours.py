"""The colours of all displays, and the size of small text."""

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
BLUE = "#0072B2"
SKY = "#56B4E9"
GREEN = "#009E73"
ORANGE = "#E69F00"
RED = "#D55E00"
PINK = "#CC79A7"
INK = "#222222"
GREY = "#767676"
PALE = "#EEEEEE"

SMALL = 8
