// Building and updating the document. Everything that comes from data goes in as
// text or as an attribute's value, never as markup.

const SVG = "http://www.w3.org/2000/svg";

/** h makes an HTML element: h("p", {class: "x", onclick: f}, "text", child, …). */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** s makes an SVG element likewise. */
export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(el, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") el.addEventListener(name.slice(2), value);
    else el.setAttribute(name, value === true ? "" : value);
  }
  append(el, children);
  return el;
}

function append(el, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(el, child);
    else el.append(child instanceof Node ? child : String(child));
  }
}

/** text sets an element's text and touches the document only where it differs. */
export function text(el, value) {
  const wanted = String(value);
  if (el.textContent !== wanted) el.textContent = wanted;
}

/** attr sets or, with null or false, removes an attribute where it differs. */
export function attr(el, name, value) {
  if (value === null || value === undefined || value === false) {
    if (el.hasAttribute(name)) el.removeAttribute(name);
  } else if (el.getAttribute(name) !== String(value)) {
    el.setAttribute(name, value);
  }
}

/** show shows or hides an element. */
export function show(el, visible) {
  if (el.hidden === visible) el.hidden = !visible;
}

/** replace gives el other children. */
export function replace(el, ...children) {
  el.replaceChildren();
  append(el, children);
}

/**
 * changed reports whether value differs from what it was when asked before with
 * this element and name: what was drawn from equal facts need not be drawn again.
 */
export function changed(el, name, value) {
  const seen = (el.drawnFrom ??= {});
  const now = JSON.stringify(value);
  if (seen[name] === now) return false;
  seen[name] = now;
  return true;
}

/**
 * keyed makes parent's children stand for items, one each, in order. Children
 * that stay are the same nodes as before and move only if they must, so that
 * focus, selection and scroll position survive. create(item) returns a node,
 * update(node, item) brings it up to date.
 */
export function keyed(parent, items, { key, create, update }) {
  const old = (parent.byKey ??= new Map());
  const now = new Map();
  for (const item of items) {
    const k = key(item);
    if (now.has(k)) continue;
    const node = old.get(k) ?? create(item);
    update(node, item);
    now.set(k, node);
  }
  for (const [k, node] of old) if (!now.has(k)) node.remove();
  let at = parent.firstChild;
  for (const node of now.values()) {
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  parent.byKey = now;
}

/** copyButton is a button that puts what text() returns on the clipboard. */
export function copyButton(what, textOf) {
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy ${what}` }, "copy");
  button.addEventListener("click", async () => {
    const done = await copy(textOf());
    button.textContent = done ? "copied" : "select it by hand";
    setTimeout(() => { button.textContent = "copy"; }, 2000);
  });
  return button;
}

// Off loopback and without TLS a browser offers no clipboard; the old way works.
async function copy(value) {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    const area = h("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = value;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
