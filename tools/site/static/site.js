// What scrolls can be reached with the keyboard.
addEventListener("load", () => {
  for (const block of document.querySelectorAll("pre, table"))
    for (const box of [block, block.parentElement])
      if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
});
