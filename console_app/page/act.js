"use strict";
const all = (words, within = document) => [...within.querySelectorAll(words)];
const root = document.documentElement;
const search = document.getElementById("search");
const found = document.getElementById("found");
const texts = new Map();

// Search: what doesn't hold the words is hidden, and what holds a place that does stays.
function own(unit) {
  if (!texts.has(unit)) texts.set(unit, unit.textContent.toLowerCase());
  return texts.get(unit);
}
function look() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const wrong = document.getElementById("wrong").getAttribute("aria-pressed") === "true";
  const fits = (unit) => words.every((word) => own(unit).includes(word)) && (!wrong || unit.matches(".bad, :has(.bad)"));
  const units = all("[data-unit]");
  let count = 0;
  for (const unit of units) {
    const kept = fits(unit);
    unit.classList.toggle("hidden", !kept);
    count += kept;
  }
  for (const turn of all(".turn")) turn.classList.toggle("hidden", !turn.querySelector("[data-unit]:not(.hidden)"));
  found.textContent = words.length || wrong ? `${count} of ${units.length} shown` : "";
}
let waiting = 0;
search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 120); });

// Time: a slider a batch; each of its calls is shown as it stood then.
const PHASES = { arguments: "preparing", queue: "queued", wait: "needs you", run: "running" };
function at(batch, slider) {
  const time = Number(slider.value), last = Number(slider.max), counts = {};
  batch.style.setProperty("--at", time / last);
  for (const call of all("details.call", batch)) {
    if (call.closest(".batch") !== batch) continue; // the calls of an item have no lanes here
    const bars = all(":scope > summary rect", call);
    const begins = (bar) => Number(bar.getAttribute("x")), lasts = (bar) => Number(bar.getAttribute("width"));
    const bar = bars.find((one) => begins(one) <= time && time < begins(one) + lasts(one));
    const before = bars.some((one) => begins(one) > time);
    const phase = time >= last || !bars.length ? "" : bar ? PHASES[bar.classList[0]] : before ? "not yet" : "";
    const line = call.querySelector(":scope > summary .line"); // its look says the rest
    if (phase) line.dataset.at = phase; else delete line.dataset.at;
    counts[phase || "ended"] = (counts[phase || "ended"] || 0) + 1;
  }
  const told = Object.entries(counts).map(([phase, count]) => `${count} ${phase}`).join(", ");
  const words = `${(time / last * Number(slider.dataset.seconds)).toFixed(1)} s: ${told}`;
  batch.querySelector(":scope > .time output").textContent = words;
  slider.setAttribute("aria-valuetext", words);
}
const players = new Map();
function stop(batch) {
  clearInterval(players.get(batch));
  players.delete(batch);
  batch.querySelector(".play").textContent = "Play";
}
function play(batch) {
  if (players.has(batch)) return stop(batch);
  const slider = batch.querySelector(".time input"), last = Number(slider.max);
  const seconds = Math.min(Math.max(Number(slider.dataset.seconds), 2), 12), began = performance.now();
  batch.querySelector(".play").textContent = "Stop";
  players.set(batch, setInterval(() => {
    slider.value = Math.min((performance.now() - began) / seconds / 1000 * last, last);
    at(batch, slider);
    if (Number(slider.value) >= last) stop(batch);
  }, 50));
}
document.addEventListener("input", ({ target }) => { if (target.matches(".time input")) at(target.closest(".batch"), target); });
document.addEventListener("click", ({ target }) => { if (target.matches(".play")) play(target.closest(".batch")); });

const shown = () => all("details").filter((one) => !one.closest(".hidden"));
function open() {
  const now = shown(), closed = now.some((one) => !one.open);
  for (const one of now) one.open = closed;
}
function dark() {
  const is = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = is === "dark" ? "light" : "dark";
}
function wrong() {
  const button = document.getElementById("wrong");
  button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
  look();
}
function go(words, before) {
  const here = document.activeElement, side = before ? Node.DOCUMENT_POSITION_PRECEDING : Node.DOCUMENT_POSITION_FOLLOWING;
  const rows = all(words).filter((one) => one.checkVisibility() && here.compareDocumentPosition(one) & side);
  const next = before ? rows.at(-1) : rows[0];
  if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
}
const keys = {
  "/": () => search.focus(),
  j: () => go(".call > summary, .item > summary"),
  k: () => go(".call > summary, .item > summary", true),
  n: () => go(".bad > summary"),
  o: open, d: dark, e: wrong,
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target === search) { search.value = ""; look(); search.blur(); }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select") || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
for (const [name, act] of [["open", open], ["dark", dark], ["wrong", wrong]])
  document.getElementById(name).addEventListener("click", act);
document.getElementById("tools").hidden = false;
