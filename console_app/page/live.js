// The page that changes: blocks come over a socket, and what is tapped or typed goes back. All HTML was made safe there.
import { cameIn, onWayIn, proof, socketTo, stayOut } from "./static/door.js";

const STILL = 500; // milliseconds that the board must have stood still before a button on it decides
const talk = document.getElementById("talk"), board = document.getElementById("board");
const notice = document.getElementById("notice"), prompt = document.getElementById("prompt");
const typed = prompt.querySelector("textarea");
let socket = null, over = false, tries = 0, run = "", version = 0, moved = 0, hiding = 0;

function say(line, action = "") {
  clearTimeout(hiding);
  notice.textContent = line;
  notice.hidden = !line;
  if (!action) { hiding = setTimeout(() => { notice.hidden = true; }, 8000); return; }
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: action, onclick: connect });
  notice.append(" ", button);
}

function made(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

// A block in its place. What holds others keeps them, and one that was open, or typed into, stays so.
function put([id, parent, html, after, holds]) {
  const old = document.getElementById(id), fresh = html && made(html);
  if (old?.closest("#board") || parent === "board") moved = performance.now();
  if (!html) return old?.remove();
  if (!old) {
    const before = after && document.getElementById(after)?.closest(`#${CSS.escape(parent)} > *`);
    const place = document.getElementById(parent);
    return before ? before.after(fresh) : after ? place.append(fresh) : place.prepend(fresh);
  }
  if (holds) {
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    return;
  }
  const here = old.contains(document.activeElement) ? document.activeElement : null;
  if (old.open) fresh.open = true;
  for (const field of all("[name]", old)) {
    const same = fresh.querySelector(`[name="${CSS.escape(field.name)}"]`);
    if (same) { same.value = field.value; if ("checked" in field) same.checked = field.checked; }
  }
  old.replaceWith(fresh);
  if (!here) return;
  // Never onto a button that decides: it may stand for something else now.
  const same = here.name ? fresh.querySelector(`[name="${CSS.escape(here.name)}"]`) : here.matches("#board button") ? null
    : fresh.querySelector(`[data-do="${here.dataset.do}"]`);
  (same ?? fresh).focus();
}

function told(message) {
  if ("ticket" in message) cameIn(message.ticket);
  else if ("closed" in message) {
    over = true;
    say(message.closed);
    clearTimeout(hiding);
    stayOut(message.asks);
  } else if ("run" in message) {
    if (run && run !== message.run) return location.reload(); // the server began anew: nothing here is of it
    run = message.run;
  } else if ("blocks" in message) {
    const end = talk.scrollHeight - talk.scrollTop - talk.clientHeight < 80;
    for (const block of message.blocks) put(block);
    texts.clear();
    if (found.textContent) look();
    if (end) talk.scrollTop = talk.scrollHeight;
    if ("version" in message) version = message.version;
    document.getElementById("stop").disabled = !document.querySelector("#now .busy");
  } else if ("say" in message) say(message.say);
  else if ("draft" in message) {
    if (typed.value) say(`Not sent: ${message.draft}`);
    else typed.value = message.draft;
  }
}

function connect() {
  over = false;
  const mine = socket = socketTo("page-socket");
  mine.onopen = () => {
    tries = 0;
    say("");
    mine.send(JSON.stringify({ ...proof(), run, version }));
  };
  mine.onmessage = ({ data }) => told(JSON.parse(data));
  mine.onclose = () => {
    if (mine !== socket || over) return;
    say("The connection is gone. Trying again…", "Now");
    setTimeout(() => { if (mine === socket && !over) connect(); }, Math.min(1000 * 2 ** tries++, 15000));
  };
}

function send(message) {
  if (socket?.readyState !== WebSocket.OPEN) return say("There is no connection: nothing was done."), false;
  socket.send(JSON.stringify(message));
  return true;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (!button) return;
  event.preventDefault();
  const block = button.closest(".asks"), { do: what, of, how, stamp } = button.dataset;
  if (block) {
    const [at, seen] = [button.getBoundingClientRect(), board.getBoundingClientRect()];
    if (at.top < seen.top - 1 || at.bottom > seen.bottom + 1) return button.scrollIntoView({ block: "nearest" });
    if (performance.now() - moved < STILL) return say("The board has just changed: look again.");
  }
  send({ do: what, of, how, stamp, words: block?.querySelector("input")?.value });
});
const resized = new ResizeObserver(() => { moved = performance.now(); }); // what grows below moves the board as well
for (const one of [board, document.querySelector("footer")]) resized.observe(one);
document.addEventListener("toggle", ({ target }) => {
  if (target.matches?.("details.call") && target.open) send({ do: "open", of: target.id });
}, true);
prompt.addEventListener("submit", (event) => {
  event.preventDefault();
  if (typed.value.trim() && send({ do: "send", words: typed.value })) typed.value = "";
  talk.scrollTop = talk.scrollHeight;
});
// Enter sends where there are keys of one's own; on a screen keyboard it is a new line, and the button sends.
typed.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing || event.shiftKey) return;
  if (!event.ctrlKey && matchMedia("(pointer: coarse)").matches) return;
  event.preventDefault();
  prompt.requestSubmit();
});
document.getElementById("to-terminal").onclick = () => sessionStorage.setItem("fanout-view", "terminal");
onWayIn(connect);
connect();
