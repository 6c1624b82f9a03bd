// Sets the remembered theme before the first paint. A plain script, not a
// module: modules run after it.
"use strict";
(() => {
  let theme = null;
  try { theme = localStorage.getItem("quintet-theme"); } catch { /* storage refused: follow the system */ }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
})();
