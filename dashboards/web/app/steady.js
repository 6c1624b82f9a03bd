// What is pressed stays where it is until it is let go. A line that came in above
// between press and release would make the click one on something else, or on nothing.

const longest = 1000; // ms; who holds on, or drags, sees what comes all the same

let pressed = 0; // the timer that lets go
let late = null; // what is to be drawn then

/** steady returns draw such that it waits while something is pressed, and then draws once. All that comes is drawn through one. */
export function steady(draw) {
  return () => { if (pressed) late = draw; else draw(); };
}

function letGo() {
  clearTimeout(pressed);
  pressed = 0;
  const draw = late;
  late = null;
  draw?.();
}

addEventListener("pointerdown", () => { clearTimeout(pressed); pressed = setTimeout(letGo, longest); }, true);
addEventListener("pointerup", () => setTimeout(letGo), true); // behind the click
addEventListener("pointercancel", letGo, true);
