// Prints how the page writes values: its argument is a list of them.

import * as format from "../app/format.js";

const values = JSON.parse(process.argv[2]);
console.log(JSON.stringify(Object.fromEntries(["percent", "gpuTime", "number"].map((name) => [name, values.map((v) => format[name](v))]))));
