// Finds sections that hold every word that is typed: in a title before in a
// heading, and there before in the text.
(function () {
  const up = document.body.dataset.up;
  const input = document.getElementById("search");
  const found = document.getElementById("found");
  const index = (window.quintetIndex || []).map((e) => ({ ...e, lt: e.t.toLowerCase(), lh: e.h.toLowerCase(), lx: e.x.toLowerCase() }));

  function weigh(e, words) {
    let sum = 0;
    for (const w of words) {
      const inText = e.lx.split(w).length - 1;
      const one = (e.lt.includes(w) ? 8 : 0) + (e.lh.includes(w) ? 12 : 0) + Math.min(inText, 5);
      if (one === 0) return 0;
      sum += one;
    }
    return sum;
  }

  function excerpt(e, words) {
    const at = Math.max(0, e.lx.indexOf(words[0]) - 50);
    return (at > 0 ? "…" : "") + e.x.slice(at, at + 140);
  }

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.replaceChildren();
    found.hidden = words.length === 0;
    if (words.length === 0) return;
    const best = index.map((e) => ({ e, s: weigh(e, words) })).filter((x) => x.s > 0).sort((a, b) => b.s - a.s).slice(0, 20);
    for (const { e } of best) {
      const a = document.createElement("a");
      a.href = up + e.u;
      a.textContent = e.h && e.h !== e.t ? e.t + ": " + e.h : e.t;
      const small = document.createElement("small");
      small.textContent = excerpt(e, words);
      a.append(small);
      const li = document.createElement("li");
      li.append(a);
      found.append(li);
    }
    if (best.length === 0) {
      const li = document.createElement("li");
      li.textContent = "Nothing found.";
      found.append(li);
    }
  }

  input.addEventListener("input", show);
  document.addEventListener("keydown", (ev) => {
    if (ev.key === "/" && document.activeElement !== input) {
      ev.preventDefault();
      input.focus();
    }
  });
})();
