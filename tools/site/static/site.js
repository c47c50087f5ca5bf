// Code that scrolls sideways can be reached with the keyboard.
addEventListener("load", () => {
  for (const block of document.querySelectorAll("pre, table"))
    for (const box of [block, block.parentElement])
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
});
