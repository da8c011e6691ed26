// A page of somebody else, open in the same browser on the same machine: it changes nothing here and reads nothing.
import { type Server as Http, createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { type BrowserContext, type Page } from "@playwright/test";
import config from "../playwright.config";
import { type Server } from "./server";
import { expect, test } from "./stage";

const launch = config.use?.launchOptions ?? {};

// A name of the page's own that means this machine, as a rebound one does.
test.use({
  options: { manualClock: true },
  launchOptions: { ...launch, args: [...(launch.args ?? []), "--host-resolver-rules=MAP evil.test 127.0.0.1"] },
});

let elsewhere: Http;
let port: number;

test.beforeAll(async () => {
  elsewhere = createServer((_, answer) => {
    answer.setHeader("Content-Type", "text/html");
    answer.end("<!doctype html><title>elsewhere</title><iframe name=sink></iframe>");
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  port = (elsewhere.address() as AddressInfo).port;
});

test.afterAll(() => elsewhere.close());

test.beforeEach(async ({ server }) => {
  await server.declare("voice", 2, "10m");
  await server.acquire("voice", "held", { run: "r1", label: "secret-label" });
});

/** All there is to be changed or read, with the revision at which it is so. */
const state = (server: Server) => server.call("GET", "/v1/limits/voice/slots");

async function open(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** Everything that a page can send without being asked; answers what it could read. */
function attack(page: Page, target: string): Promise<string[]> {
  return page.evaluate(async (target) => {
    const read: string[] = [];
    const slot = (name: string) => JSON.stringify({ slot: name, limit: "voice", confirm: "auto" });
    const send = async (path: string, init: RequestInit) => {
      const answer = await fetch(target + path, init).catch(() => undefined);
      const text = await answer?.text().catch(() => "");
      if (text) read.push(`${init.method ?? "GET"} ${path}: ${text}`);
    };
    const json = { "Content-Type": "application/json" };
    for (const path of ["/v1/limits", "/v1/limits/voice/slots", "/v1/runs", "/metrics", "/openapi.json", "/livez"]) {
      for (const mode of ["cors", "no-cors"] as const) await send(path, { mode });
      await send(path, { credentials: "include" });
    }
    for (const [method, path, body] of [
      ["POST", "/v1/slots", slot("by-fetch")],
      ["POST", "/v1/slots/held/release", "{}"],
      ["PUT", "/v1/limits/voice/capacity", '{"capacity":9}'],
      ["DELETE", "/v1/limits/voice/capacity", undefined],
      ["POST", "/v1/batch", '{"items":[{"op":"release","slot":"held"}]}'],
    ] as const) {
      const given = body === undefined ? {} : { body };
      await send(path, { method, headers: json, ...given });
      await send(path, { method, ...given });
      if (method === "POST") await send(path, { method, mode: "no-cors", ...given });
    }
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json"]) {
      navigator.sendBeacon(`${target}/v1/slots/held/release`, new Blob(["{}"], { type }));
      navigator.sendBeacon(`${target}/v1/slots`, new Blob([slot(`by-beacon-${type}`)], { type }));
    }
    for (const enctype of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
      const form = document.createElement("form");
      Object.assign(form, { method: "post", action: `${target}/v1/slots`, enctype, target: "sink" });
      const field = document.createElement("input");
      field.name = `{"slot":"by-form","limit":"voice","label":"`;
      field.value = `"}`;
      form.append(field);
      document.body.append(form);
      form.submit();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // As a picture, a script, a frame: asked for with GET, which only looks, but for a wait.
    await new Promise((resolve) => {
      const image = new Image();
      image.onload = image.onerror = resolve;
      image.src = `${target}/v1/slots/held?wait=1s`;
    });
    await new Promise((resolve) => {
      const script = document.createElement("script");
      script.onload = () => resolve(read.push("a script ran"));
      script.onerror = resolve;
      script.src = `${target}/v1/limits`;
      document.body.append(script);
    });
    const heard = await new Promise<string>((resolve) => {
      const stream = new EventSource(`${target}/v1/events`);
      stream.onopen = () => resolve("a stream opened");
      stream.onerror = () => resolve("");
      stream.addEventListener("snapshot", (event) => resolve(String(event.data)));
    });
    if (heard) read.push(heard);
    const socket = await new Promise<string>((resolve) => {
      const socket = new WebSocket(`${target.replace("http", "ws")}/v1/events`);
      socket.onopen = () => resolve("a socket opened");
      socket.onerror = () => resolve("");
    });
    if (socket) read.push(socket);
    return read;
  }, target);
}

/** How often the server said this to a call that would have changed something. */
async function refusals(server: Server, status: number): Promise<number> {
  const numbers = await (await fetch(`${server.url}/metrics`)).text();
  const said = [...numbers.matchAll(/maitred_http_requests_total\{route="[^"]*",method="(\w+)",status="(\d+)"\} (\d+)/g)];
  const counted = said.filter(([, method, told]) => method !== "GET" && Number(told) === status);
  return counted.reduce((sum, [, , , times]) => sum + Number(times), 0);
}

// The first is of the same site as the server, the second of another.
for (const host of ["127.0.0.1", "localhost"]) {
  test(`a page of ${host} on another port`, async ({ context, server }) => {
    const before = await state(server);
    const page = await open(context, `http://${host}:${port}/`);
    expect(await attack(page, server.url)).toEqual([]);
    await expect.poll(() => refusals(server, 403)).toBeGreaterThan(15);
    expect(await state(server)).toEqual(before);
  });
}

test("the same from the server's own page goes through", async ({ context, server }) => {
  const before = await state(server);
  const page = await open(context, `${server.url}/livez`);
  const read = await page.evaluate(async () => {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch("/v1/limits/voice/capacity", { method: "PUT", headers, body: '{"capacity":9}' });
    return answer.text();
  });
  expect(read).toContain('"capacity":9');
  expect(await state(server)).not.toEqual(before);
});

test("a name that was turned to this machine is not answered for", async ({ context, server }) => {
  const before = await state(server);
  const page = await context.newPage();
  // For the browser this page and the server are of one origin, so it lets the page read every answer.
  const opened = await page.goto(`http://evil.test:${server.port}/`);
  expect(opened?.status()).toBe(421);
  const told = await page.evaluate(async () => {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ slot: "rebound", limit: "voice" });
    const answers = [
      await fetch("/v1/limits/voice/slots"),
      await fetch("/v1/events"),
      await fetch("/studio"),
      await fetch("/v1/slots", { method: "POST", headers, body }),
      await fetch("/v1/slots/held/release", { method: "POST" }),
    ];
    return Promise.all(answers.map(async (answer) => ({ status: answer.status, text: await answer.text() })));
  });
  expect(told.map(({ status }) => status)).toEqual([421, 421, 421, 421, 421]);
  expect(told.filter(({ text }) => /voice|held|secret-label/.test(text))).toEqual([]);
  expect(await state(server)).toEqual(before);
});

test("Studio is shown in nobody's frame", async ({ context, server }) => {
  const page = await open(context, `http://127.0.0.1:${port}/`);
  await page.evaluate((url) => {
    const frame = document.createElement("iframe");
    frame.src = url;
    document.body.append(frame);
    return new Promise((resolve) => (frame.onload = resolve));
  }, `${server.url}/studio/limits`);
  const frames = page.frames().filter((frame) => frame.url().startsWith("chrome-error:"));
  expect(frames).toHaveLength(1);
});
