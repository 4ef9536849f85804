// Keeps the page that is shown current, and says when it is not. Without this script the pages are the same, and are
// loaded again by hand.
//
// One tab of a browser listens to the host and tells the others: over HTTP/1.1 a browser opens six connections to a
// host in all, so that the seventh tab with a stream of its own would hang. Where tabs cannot agree who listens (no Web
// Locks, as over plain HTTP from another machine), each asks every few seconds instead.
"use strict";
(() => {
  const live = "/page/live", silence = 3500, pause = 1000;
  const main = document.getElementById("main"), contact = document.getElementById("contact");
  const tabs = "BroadcastChannel" in window ? new BroadcastChannel("hostnode") : { postMessage() {} };
  let heard = Date.now(), position = null, shownAt = Date.now(), asking = false, wanted = false;

  const heartbeat = (m) => {
    heard = Date.now();
    if (position !== null && m.position !== position) refresh();
    position = m.position;
    say();
  };
  tabs.onmessage = (e) => heartbeat(e.data);

  // listen keeps one stream open, for all tabs.
  const listen = () => new Promise(() => {
    const open = () => {
      const stream = new EventSource(live);
      stream.onmessage = (e) => {
        const m = JSON.parse(e.data);
        heartbeat(m);
        tabs.postMessage(m);
      };
      stream.onerror = () => { // A browser gives up after an error of HTTP, such as while the host starts.
        if (stream.readyState === EventSource.CLOSED) setTimeout(open, 2000);
      };
    };
    open();
  });
  const poll = async () => {
    try {
      const answer = await fetch(live + "?once=yes");
      if (answer.ok) heartbeat(await answer.json());
    } catch { /* The host does not answer, which is said after a while. */ }
    setTimeout(poll, 2000);
  };
  if (navigator.locks && "BroadcastChannel" in window) navigator.locks.request("hostnode", listen);
  else poll();

  // say tells whether there is contact, and how old the figures are.
  const say = () => {
    const away = Date.now() - heard, lost = away > silence, age = Math.round((Date.now() - shownAt) / 1000);
    contact.classList.toggle("lost", lost);
    const text = lost
      ? `Lost contact ${Math.round(away / 1000)} s ago. The figures are ${age} s old.`
      : "Live";
    if (contact.textContent !== text) contact.textContent = text;
    if (lost) wanted = true;
    else if (wanted && !asking) refresh();
  };
  setInterval(say, 500);

  // refresh loads the page again, and replaces what has changed, but not where somebody is typing.
  const refresh = async () => {
    wanted = true;
    if (asking || document.hidden || document.querySelector("main :user-invalid")) return;
    asking = true;
    wanted = false;
    try {
      const answer = await fetch(location.href, { headers: { "X-Fragment": "main" } });
      if (answer.redirected) location.reload(); // Nobody is signed in any more.
      if (answer.ok) {
        replace(await answer.text());
        shownAt = Date.now();
      } else wanted = true;
    } catch {
      wanted = true;
    }
    setTimeout(() => {
      asking = false;
      if (wanted) say();
    }, pause);
  };
  const replace = (html) => {
    const fresh = new DOMParser().parseFromString(html, "text/html").body;
    const old = [...main.children], next = [...fresh.children];
    if (old.map((e) => e.id).join() !== next.map((e) => e.id).join()) {
      if (!busy(main)) main.replaceChildren(...next);
      return;
    }
    next.forEach((element, i) => {
      if (busy(old[i])) return;
      for (const d of old[i].querySelectorAll("details[open]")) {
        const same = d.id && element.querySelector("#" + CSS.escape(d.id));
        if (same) same.open = true;
      }
      if (old[i].outerHTML === element.outerHTML) return;
      old[i].replaceWith(element);
    });
  };
  // busy: somebody types there, or has typed and not sent it.
  const busy = (element) => element.contains(document.activeElement) && document.activeElement !== main ||
    [...element.querySelectorAll("input, select, textarea")].some((i) =>
      i.type === "checkbox" ? i.checked !== i.defaultChecked : i.value !== i.defaultValue && i.tagName !== "SELECT");
  document.addEventListener("visibilitychange", say);
})();
