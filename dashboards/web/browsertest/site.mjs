/** Site is the test's server as a scenario moves it. */
export class Site {
  constructor(url) { this.url = url; }

  async control(command) {
    const response = await fetch(`${this.url}/control`, { method: "POST", body: JSON.stringify(command) });
    if (!response.ok) throw new Error(`control: ${await response.text()}`);
    return response.json();
  }

  send(event, data, id) { return this.control({ Do: "send", Event: event, Data: data, ID: id ? String(id) : "" }); }

  set(path, body, status = 200) { return this.control({ Do: "set", Path: path, Data: body, Status: status }); }

  async get(path) { return (await fetch(this.url + path)).json(); }

  /** connected waits until n pages hold a stream. */
  async connected(n = 1) {
    for (let i = 0; i < 200; i++) {
      if ((await this.control({ Do: "count" })).streams === n) return;
      await new Promise((done) => setTimeout(done, 25));
    }
    throw new Error(`the page did not connect to the stream`);
  }
}
