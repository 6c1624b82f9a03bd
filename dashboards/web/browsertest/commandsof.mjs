// Prints and fails for signatures none of whose actions has a command: its argument
// is {signature: incident}.

import { commandsOf } from "../app/commands.js";

const none = Object.entries(JSON.parse(process.argv[2])).filter(([, incident]) => incident.actions.every((a) => commandsOf(a, incident).length === 0)).map(([name, incident]) => `${name} at ${incident.root.entity}: ${incident.actions.map((a) => `${a.kind} ${a.target}`).join(", ")}`);
if (none.length) {
  console.error(none.join("\n"));
  process.exitCode = 1;
}
