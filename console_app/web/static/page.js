// The page's side: a terminal as large as the page, and a socket to its console.
import { Terminal } from "./xterm.mjs";
import { FitAddon } from "./addon-fit.mjs";
import { Unicode11Addon } from "./addon-unicode11.mjs";
import { cameIn, onWayIn, proof, socketTo, stayOut } from "./door.js";

const KNOWN = "fanout-console"; // in this tab's storage, as the ticket is
const PIECE = 65536; // bytes a message: a paste of megabytes goes in many
const MOST_COPIED = 8_000_000;
const USUAL = 14; // pixels of a character's height
const LEAST = 6;
const COLUMNS = 60; // what the console needs

const place = document.getElementById("terminal");
const terminal = new Terminal({
  allowProposedApi: true, // the widths of Unicode 11
  cursorBlink: false,
  fontFamily: 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace',
  fontSize: USUAL,
  lineHeight: 1.1, // at 1 underscores are cut off in some fonts
  macOptionIsMeta: true,
  scrollback: 0,
  theme: { background: "#16161e" },
});
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.loadAddon(new Unicode11Addon());
terminal.unicode.activeVersion = "11";
terminal.open(place);

// Characters as large as usual, or as small as a narrow page needs.
function fill() {
  terminal.options.fontSize = USUAL;
  let room = fit.proposeDimensions();
  while (room && room.cols < COLUMNS && terminal.options.fontSize > LEAST) {
    terminal.options.fontSize -= 0.5;
    room = fit.proposeDimensions();
  }
  fit.fit();
}

const notice = document.getElementById("notice");
const [text, link, button] = [notice.querySelector("span"), notice.querySelector("a"), notice.querySelector("button")];

function say(line, { url = "", action = "", then = null } = {}) {
  text.textContent = line;
  link.hidden = !url;
  link.textContent = link.href = url;
  button.hidden = !action;
  button.textContent = action;
  button.onclick = () => { quiet(); then?.(); };
  notice.hidden = false;
}

function quiet() {
  notice.hidden = true;
  terminal.focus();
}

notice.querySelector(".close").onclick = quiet;
link.onclick = () => setTimeout(quiet);

function isWebPage(url) {
  try {
    return ["http:", "https:"].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}

function open(url) {
  if (!isWebPage(url)) return;
  if (navigator.userActivation?.isActive) window.open(url, "_blank", "noopener,noreferrer");
  else say("The console asks to open", { url });
}

function download(path, name) {
  const anchor = document.createElement("a");
  anchor.href = path;
  anchor.download = name;
  anchor.click();
  say(`Downloading ${name}`);
}

let socket = null;
let kept = false;
let over = false; // nothing is to be tried again by itself
let tries = 0;

function send(data) {
  if (socket?.readyState !== WebSocket.OPEN) return;
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  for (let at = 0; at < bytes.length; at += PIECE) socket.send(bytes.subarray(at, at + PIECE));
}

function told(message) {
  if ("ticket" in message) cameIn(message.ticket);
  else if ("closed" in message) {
    over = true;
    say(message.closed);
    stayOut(message.asks);
  } else if ("console" in message) {
    sessionStorage.setItem(KNOWN, message.console);
    kept = message.kept;
    if (message.lost && kept) say("The console from before has ended. This is a new one.");
  } else if ("open" in message) open(String(message.open));
  else if ("download" in message) download(String(message.download), String(message.name));
  else if ("refused" in message) stop(message.refused, "Try again");
  else if ("moved" in message) stop("This console is shown in another page now.", "Show it here");
  else if ("ended" in message) {
    sessionStorage.removeItem(KNOWN);
    stop("The console has ended.", "Start another");
  }
}

function stop(line, action) {
  over = true;
  say(line, { action, then: connect });
}

function connect() {
  over = false;
  terminal.reset();
  fill();
  const mine = socket = socketTo("socket");
  mine.binaryType = "arraybuffer";
  mine.onopen = () => {
    tries = 0;
    quiet();
    const console = sessionStorage.getItem(KNOWN) ?? "";
    mine.send(JSON.stringify({ ...proof(), console, size: [terminal.cols, terminal.rows] }));
  };
  mine.onmessage = ({ data }) => {
    if (typeof data === "string") told(JSON.parse(data));
    else terminal.write(new Uint8Array(data));
  };
  mine.onclose = () => {
    if (mine !== socket || over) return;
    if (!kept) return stop("The connection is gone, and with it the console.", "Start another");
    say("The connection is gone. Trying again…", { action: "Now", then: connect });
    setTimeout(() => { if (mine === socket && !over) connect(); }, Math.min(1000 * 2 ** tries++, 15000));
  };
  terminal.focus();
}

terminal.onData(send);
terminal.onBinary((data) => send(Uint8Array.from(data, (character) => character.charCodeAt(0))));
terminal.onResize(({ cols, rows }) => {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ size: [cols, rows] }));
});
terminal.attachCustomKeyEventHandler((event) => {
  if (event.key !== "Enter" || !event.shiftKey || event.ctrlKey || event.altKey) return true;
  if (event.type === "keydown") {
    event.preventDefault();
    send("\x1b[27;2;13~"); // as xterm itself sends it
  }
  return false;
});
// What the console copies goes to the clipboard; what is on it is never told.
terminal.parser.registerOscHandler(52, (data) => {
  const [, base64 = ""] = data.split(";", 2);
  if (base64 === "?" || base64.length > MOST_COPIED) return true;
  try {
    const copied = new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
    navigator.clipboard?.writeText(copied).catch(() => say("The browser did not let the text be copied."));
  } catch {
    // no base64: nothing to copy
  }
  return true;
});
for (const key of document.querySelectorAll("#keys button")) {
  key.onpointerdown = (event) => event.preventDefault(); // the keyboard stays where it is
  key.onclick = () => { send(key.dataset.keys); terminal.focus(); };
}
new ResizeObserver(fill).observe(place);
window.addEventListener("focus", () => { if (notice.hidden) terminal.focus(); });

window.fanout = { // what the page shows, for who can't see it: tests, and helpers of the browser
  text: () => Array.from({ length: terminal.rows }, (_, row) =>
    terminal.buffer.active.getLine(terminal.buffer.active.viewportY + row)?.translateToString(true, 0, terminal.cols) ?? "").join("\n"),
  size: () => [terminal.cols, terminal.rows],
};

document.getElementById("to-page").onclick = () => sessionStorage.setItem("fanout-view", "page");
onWayIn(connect);
document.fonts.ready.then(connect);
