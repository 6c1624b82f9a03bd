// A thread of its own, that asks the history and reads its answers: JSON of thousands of
// series, and what is left of it, takes longer than the page's thread has for an update.

import { answerOf } from "./columns.js";

const under = new Map(); // id -> what gives a question up

onmessage = async ({ data: { id, url } }) => {
  if (!url) { under.get(id)?.abort(); return; }
  const control = new AbortController();
  under.set(id, control);
  const answer = await answerOf(url, control.signal).catch((error) => ({ failed: { message: error.message, status: 0, kind: error.name } }));
  under.delete(id);
  const { label, counts, t, v } = answer.columns ?? {};
  postMessage({ id, ...answer }, [label, counts, t, v].filter(Boolean).map((x) => x.buffer));
};
