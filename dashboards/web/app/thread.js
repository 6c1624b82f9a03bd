// The page's end of the thread that reads the history.

let thread = null, last = 0;
const waiting = new Map(); // id -> {done, fail}

/** inThread answers as answerOf does, read by another thread. */
export function inThread(url, signal) {
  thread ??= begun();
  const id = ++last;
  return new Promise((done, fail) => {
    waiting.set(id, { done, fail });
    thread.postMessage({ id, url });
    signal.addEventListener("abort", () => {
      if (!waiting.delete(id)) return;
      thread.postMessage({ id });
      fail(signal.reason);
    }, { once: true });
  });
}

function begun() {
  const worker = new Worker(new URL("./reader.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data: { id, ...answer } }) => {
    waiting.get(id)?.done(answer);
    waiting.delete(id);
  };
  worker.onerror = (event) => { // it could not be loaded, or has failed: the next question begins another
    thread = null;
    for (const { fail } of waiting.values()) fail(new Error(event.message || "the history cannot be read"));
    waiting.clear();
  };
  return worker;
}
