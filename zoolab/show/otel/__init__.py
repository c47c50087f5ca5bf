"""The story of a run as one page without scripts.

page.py     the page: header, turns, ending
cards.py    one card a step; bodies.py: what it says of each record; boxes.py: the boxes in it
scene.py    what a card must know of the steps around it
words.py    the same in plain text
markup.py   builds HTML that cannot hold unescaped text; ground.css: the colours of all pages, reports too
"""
