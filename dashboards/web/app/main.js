// The page's frame: the bar at the top, which view an address means, keys.

import { h, text, attr, show, replace, changed } from "./dom.js";
import { duration, plural, instant, setZone, zone } from "./format.js";
import { setTime, timeOf } from "./parts.js";
import { Store } from "./store.js";
import { Overview } from "./overview.js";
import { Jobs } from "./jobs.js";
import { IncidentView } from "./incident.js";
import { Fabric } from "./fabric.js";
import { Coverage } from "./coverage.js";
import { Alerts } from "./alerts.js";
import { Alert } from "./alert.js";
import { Silences } from "./silences.js";
import { Job } from "./job.js";
import { Replay, ReplayBar, ReplayView } from "./replay.js";
import { Power } from "./power.js";
import { Help } from "./help.js";
import { headline } from "./states.js";
import { EntityView } from "./entity.js";
import { Incidents } from "./incidents.js";
import { Explore } from "./explore.js";
import { Wall } from "./wall.js";
import { Find } from "./find.js";
import { Strike } from "./strike.js";
import { steady } from "./steady.js";
import { unread } from "./reading.js";
import { zoneIn, keepZone } from "./zone.js";

const store = new Store();
const replay = new Replay(store);
const replayBar = new ReplayBar(replay);
const main = document.getElementById("view");
const news = document.getElementById("news");

// ------------------------------------------------------------------ the bar

const themes = ["auto", "light", "dark"];
// The bar stands in the document, so that it is painted before a script has come.
const part = (selector) => document.querySelector(`#bar ${selector}`);
const bar = { site: part(".site"), clock: part(".time time"), link: part(".link"), alarms: part(".alarms"), demo: part(".demo"), theme: part("#theme"), zone: part("#zone") };

function setTheme(wanted) {
  const root = document.documentElement, now = root.dataset.theme ?? "auto";
  const next = wanted ?? themes[(themes.indexOf(now) + 1) % themes.length];
  if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
  try {
    if (next === "auto") localStorage.removeItem("quintet-theme"); else localStorage.setItem("quintet-theme", next);
  } catch { /* storage refused: it lasts as long as the page */ }
  text(bar.theme, next);
  attr(bar.theme, "aria-label", `Theme: ${next}. Change it`);
}

function updateBar() {
  text(bar.site, store.status?.site ?? "");
  setTime(bar.clock, store.tick, store.tick);
  text(bar.zone, zone(store.tick));
  attr(bar.zone, "aria-label", `${zone(store.tick)}: the time zone, local or UTC`);
  show(bar.zone, zone(store.tick) !== "");
  const words = linkWords();
  replayBar.update();
  attr(main, "aria-busy", store.held ? "true" : null);
  attr(bar.link, "data-link", replay.standing && store.link === "still" ? "live" : replay.words && store.link === "lost" ? "connecting" : store.link);
  const root = document.documentElement;
  attr(root, "data-state", headline(store).state || null);
  attr(root, "data-connection", bar.link.dataset.link);
  if (changed(bar.link, "words", words)) replace(bar.link, h("i", { class: "lamp", "aria-hidden": "true" }), words);
  if (changed(bar.alarms, "alarms", store.alarms)) replace(bar.alarms, store.alarms.map(alarm));
  show(bar.alarms, store.alarms.length > 0);
  const { demo = "", faults = false } = store.status ?? {};
  if (changed(bar.demo, "demo", [demo, faults])) replace(bar.demo, demo, faults && [" ", strike.opener]);
  show(bar.demo, demo !== "");
}

// linkWords says whether the clock can be believed. Durations are by the
// stopwatch, instants are the log's.
function linkWords() {
  const quiet = `${store.moved ? "" : "at least "}${duration(Math.floor(store.quietFor()))}`;
  if (replay.words && (store.link !== "lost" || replay.state.seeking)) return replay.words;
  switch (store.link) {
    case "live": return "live";
    case "still": return `No new data for ${quiet}, last at`;
    case "lost": return Number.isFinite(store.tick) ? `Connection lost, no data for ${quiet}, last at` : "No connection";
    default: return "connecting";
  }
}

function alarm(a) {
  return h("p", { class: "alarm" }, h("b", {}, a.name), a.text ? `: ${a.text} ` : " ", h("span", {}, "since ", timeOf(instant(a.since), store.tick)));
}

// ------------------------------------------------------------- which view

let view = null;
const reading = h("h1", { tabindex: "-1" }); // in the place of a view that has nothing to state yet
let shownPath = null;
const places = new Map(); // history entry -> how far it was scrolled
let entry = history.state?.entry ?? 0;

function viewFor(path) {
  const incident = /^\/incidents\/([^/]+)\/?$/.exec(path);
  if (incident) return new IncidentView(store, { id: decode(incident[1]) });
  if (/^\/incidents\/?$/.test(path)) return new Incidents(store);
  if (/^\/entity\/?$/.test(path)) return new EntityView(store);
  if (/^\/explore\/?$/.test(path)) return new Explore(store, go);
  if (/^\/jobs\/?$/.test(path)) return new Jobs(store);
  const job = /^\/jobs\/([^/]+)\/?$/.exec(path);
  if (job) return new Job(store, { name: decode(job[1]) });
  if (/^\/fabric\/?$/.test(path)) return new Fabric(store, go);
  if (/^\/coverage\/?$/.test(path)) return new Coverage(store);
  if (/^\/alerts\/?$/.test(path)) return new Alerts(store);
  const alert = /^\/alerts\/([^/]+)\/?$/.exec(path);
  if (alert) return new Alert(store, { id: decode(alert[1]) });
  if (/^\/silences\/?$/.test(path)) return new Silences(store);
  if (/^\/replay\/?$/.test(path)) return new ReplayView(store, replay);
  if (/^\/power\/?$/.test(path)) return new Power(store, go);
  if (/^\/wall\/?$/.test(path)) return new Wall(store, go);
  return new Overview(store);
}

function decode(v) {
  try { return decodeURIComponent(v); } catch { return v; }
}

/** show the view of the address; moved distinguishes a click from going back. A view that
 *  keeps what it shows in the address's query is called when only that changed. */
function route(moved) {
  if (location.pathname === shownPath) { view.located?.(); return; }
  const from = shownPath;
  shownPath = location.pathname;
  view?.close();
  view = viewFor(shownPath);
  replace(main);
  for (const a of document.querySelectorAll("#bar nav a")) {
    const here = a.getAttribute("href") === `/${shownPath.split("/")[1]}`;
    attr(a, "aria-current", here ? "page" : null);
    if (here) a.parentElement.scrollLeft = a.offsetLeft - a.parentElement.offsetLeft - 40; // where the row is wider than a phone
  }
  render();
  if (from === null) return;
  if (moved) {
    scrollTo(0, 0);
    main.querySelector("h1")?.focus({ preventScroll: true });
    if (document.activeElement === document.body) main.focus({ preventScroll: true });
  } else {
    main.querySelector(`[data-row][href="${CSS.escape(from)}"]`)?.focus({ preventScroll: true });
    scrollTo(0, places.get(entry) ?? 0);
  }
}

function go(to) {
  const path = keepZone(to);
  if (path === location.pathname + location.search) return;
  places.set(entry, scrollY);
  history.pushState({ entry: (entry = Math.max(entry, ...places.keys()) + 1) }, "", path);
  route(true);
}

function follow(event) {
  const a = event.target.closest?.("a[data-go]");
  if (!a || !a.hasAttribute("href") || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.defaultPrevented) return;
  event.preventDefault();
  const to = new URL(a.href);
  go(to.pathname + to.search);
}

function render() {
  updateBar();
  const waited = document.activeElement === reading;
  if (framed()) view.update(); else view.await?.();
  if (waited && !reading.isConnected) main.querySelector("h1")?.focus({ preventScroll: true });
  const open = [...store.incidents.values()].filter((i) => i.state === "open").length;
  document.title = `${open ? `(${open}) ` : ""}${view.title || "Quintet"}${store.status?.site ? ` · ${store.status.site}` : ""}`;
  announce();
}

// framed puts the view into the page, and reports whether it may state anything: once
// its sources have answered; without any of its own, that is the store.
function framed() {
  const words = unread(view.sources ?? [store]), wanted = words === "" ? view.el : reading;
  text(reading, words);
  if (main.firstChild !== wanted) replace(main, wanted);
  return words === "";
}

function announce() {
  if (store.fresh.size === 0) return;
  const first = store.incidents.get([...store.fresh][0]);
  text(news, store.fresh.size === 1 && first ? `New ${first.severity} incident: ${first.title}` : plural(store.fresh.size, "new incident"));
  store.fresh.clear();
}

// toggleZone writes times in UTC, or again in the browser's zone.
function toggleZone() {
  history.replaceState(history.state, "", keepZone(location.pathname + location.search, zoneIn(location.search) === "UTC" ? "" : "UTC"));
  again();
}

// again builds the view anew: times are written in another zone.
function again() {
  setZone(zoneIn(location.search));
  shownPath = null;
  route(false);
}

// -------------------------------------------------------------------- keys

const help = new Help();
const find = new Find(store, go);
const strike = new Strike();

const keys = {
  j: () => step(1), k: () => step(-1), u: () => go("/"), t: () => setTheme(), z: () => toggleZone(), "?": () => help.open(),
  "/": () => { const box = main.querySelector("input[type=search]"); if (box) box.focus(); else { go("/jobs"); main.querySelector("input[type=search]")?.focus(); } },
};

function onKey(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); find.open(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  const typing = event.target.matches?.("input, textarea, select, [contenteditable]");
  if (typing && event.key === "Escape") event.target.blur();
  if (!typing && replay.key(event)) { event.preventDefault(); return; }
  if (typing || !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
}

// step moves the focus to the next or previous line that leads somewhere.
function step(by) {
  const rows = [...main.querySelectorAll("[data-row][href]")].filter((r) => r.offsetParent !== null);
  if (rows.length === 0) return;
  const at = rows.indexOf(document.activeElement);
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

// -------------------------------------------------------------------- start

bar.alarms.before(replayBar.el);
bar.theme.addEventListener("click", () => setTheme());
part("#help").addEventListener("click", () => help.open());
setTheme(document.documentElement.dataset.theme ?? "auto");
history.scrollRestoration = "manual";
history.replaceState({ entry }, "");
addEventListener("click", follow);
addEventListener("keydown", onKey);
addEventListener("popstate", (e) => { places.set(entry, scrollY); entry = e.state?.entry ?? 0; if (setZone(zoneIn(location.search))) again(); else route(false); });
document.addEventListener("visibilitychange", () => { if (!document.hidden) { store.refresh(); store.changed(); } });
store.addEventListener("change", steady(render));
store.addEventListener("begin", () => { shownPath = null; route(false); });
replay.addEventListener("change", updateBar);
bar.zone.addEventListener("click", toggleZone);
part("#find").addEventListener("click", () => find.open());
document.body.append(help.el, find.el, strike.el);
setZone(zoneIn(location.search));
route(true);
store.start();
