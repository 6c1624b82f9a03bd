// When a canvas has to be drawn anew without new facts: another size, another theme.

/** repainted calls resized when el has another size, themed when the page has another theme, and returns what ends that. */
export function repainted(el, { resized, themed }) {
  const observer = new ResizeObserver(resized), themes = new MutationObserver(themed), scheme = matchMedia("(prefers-color-scheme: dark)");
  observer.observe(el);
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  scheme.addEventListener("change", themed);
  return () => {
    observer.disconnect();
    themes.disconnect();
    scheme.removeEventListener("change", themed);
  };
}

/** pixels is how many of a screen's pixels one of an element is wide. */
export function pixels(el) { return (devicePixelRatio || 1) * (el.currentCSSZoom ?? 1); }
