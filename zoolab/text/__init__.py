"""Text for people: the ground that views and plugins stand on.

wording.py  numbers, sizes and times in words; what two texts differ in
markup.py   HTML that cannot hold unescaped text, in the look of `ground.css`
"""
