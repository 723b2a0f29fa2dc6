// Which of the two comes first: on a small screen, or one that is touched, the page of the conversation, since the
// terminal needs 60 columns and a keyboard. Each leads to the other, and a tab keeps to what was chosen.
const small = matchMedia("(max-width: 50rem), (pointer: coarse)").matches;
if ((sessionStorage.getItem("fanout-view") ?? (small ? "page" : "terminal")) === "page") location.replace(`page${location.hash}`);
else import("./page.js");
