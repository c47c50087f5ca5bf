// One slide at a time; without this script all of them stand below one another.
const slides = [...document.querySelectorAll("section")];
const named = () => (Number(location.hash.slice(1)) || 1) - 1;
let now = 0;
const show = (index) => {
  slides[now].classList.remove("now");
  now = Math.min(Math.max(index, 0), slides.length - 1);
  slides[now].classList.add("now");
  history.replaceState(null, "", `#${now + 1}`);
  document.title = `${document.title.replace(/ \(.*/, "")} (${now + 1} of ${slides.length})`;
  slides[now].focus();
};
document.documentElement.classList.add("turning");
document.addEventListener("keydown", (event) => {
  const turns = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
  const details = slides[now].querySelector("details");
  if (turns) show(now + turns);
  else if (event.key === " " && details && event.target.tagName !== "SUMMARY") details.open = !details.open;
  else return;
  event.preventDefault();
});
window.addEventListener("hashchange", () => show(named()));
show(named());
