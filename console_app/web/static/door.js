// The way in, for both pages: the token of the link, and the ticket that it is changed for.

// In this tab's storage, which a reload keeps, and which is of this scheme, host and port alone.
const TICKET = "fanout-ticket";

let token = new URLSearchParams(location.hash.slice(1)).get("token") ?? ""; // behind the #, which is sent to nobody
history.replaceState(null, "", location.pathname); // the token is no part of what is kept or shared
window.onhashchange = () => location.reload(); // another link was opened here

const form = document.getElementById("door");
const field = form.querySelector("input");
const tabs = new BroadcastChannel(TICKET);
let refused = null; // the ticket that this page was refused with last
let outside = false;

export function socketTo(name) {
  const address = new URL(name, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  outside = false;
  form.hidden = true;
  return new WebSocket(address);
}

export const proof = () => ({ ticket: sessionStorage.getItem(TICKET) ?? "", token });

export function onWayIn(connect) {
  form.onsubmit = (event) => {
    event.preventDefault();
    token = field.value;
    connect();
  };
  // A new tab has no ticket: it asks the others of this scheme, host and port, whom alone the channel reaches.
  tabs.onmessage = ({ data }) => {
    const ticket = sessionStorage.getItem(TICKET);
    if (data === null && ticket) tabs.postMessage(ticket);
    else if (data !== null && outside && data !== refused) {
      sessionStorage.setItem(TICKET, data);
      connect();
    }
  };
}

export function cameIn(ticket) {
  sessionStorage.setItem(TICKET, ticket);
  token = field.value = "";
}

export function stayOut(asks) {
  outside = true;
  refused = sessionStorage.getItem(TICKET) ?? refused;
  sessionStorage.removeItem(TICKET);
  token = field.value = "";
  form.hidden = !asks;
  if (asks) field.focus();
  tabs.postMessage(null);
}
