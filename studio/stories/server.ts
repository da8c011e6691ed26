// A real server on a real journal, in a folder of its own.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Options {
  /** Time stands still until it is moved. */
  manualClock?: boolean;
  /** What maitred.toml declares. */
  limits?: string;
  /** Lines of a token file. */
  tokens?: string;
}

const BINARY = process.env["MAITRED_BIN"] ?? "maitred";
const READY_WITHIN_MS = 20_000;

export class Server {
  readonly url: string;
  private child: ChildProcess | undefined;

  private constructor(
    readonly folder: string,
    readonly port: number,
    private options: Options,
  ) {
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(options: Options = {}): Promise<Server> {
    const folder = mkdtempSync(join(tmpdir(), "maitred-studio-"));
    writeFileSync(join(folder, "maitred.toml"), options.limits ?? "");
    if (options.tokens) writeFileSync(join(folder, "tokens"), options.tokens, { mode: 0o600 });
    const server = new Server(folder, await freePort(), options);
    await server.startAgain();
    return server;
  }

  async startAgain(): Promise<void> {
    const args = ["serve", "--data", "data", "--config", "maitred.toml", "--listen", `127.0.0.1:${this.port}`];
    if (this.options.manualClock) args.push("--clock", "manual");
    if (this.options.tokens) args.push("--token-file", "tokens");
    this.child = spawn(BINARY, args, { cwd: this.folder, stdio: ["ignore", "ignore", "inherit"] });
    const since = Date.now();
    while (!(await isReady(this.url))) {
      if (this.child.exitCode !== null) throw new Error(`the server ended with ${this.child.exitCode}`);
      if (Date.now() - since > READY_WITHIN_MS) throw new Error("the server is not ready in time");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** SIGKILL, and the end of the process. */
  async kill(): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async call<T = Record<string, unknown>>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const init: RequestInit = { method, headers: { ...headers } };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { ...headers, "Content-Type": "application/json" };
    }
    const response = await fetch(this.url + path, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }

  declare = (limit: string, capacity: number, maxHold = "45m") =>
    this.call("PUT", `/v1/limits/${limit}`, { capacity, max_hold: maxHold });

  /** A slot for somebody who is on the line: busy at once, or queued. */
  acquire = (limit: string, slot: string, more: Record<string, unknown> = {}) =>
    this.call("POST", "/v1/slots", { slot, limit, confirm: "auto", ...more });

  confirm = (slot: string) => this.call("POST", `/v1/slots/${slot}/confirm`);

  endRun = (run: string) => this.call("POST", `/v1/runs/${run}/end`, { status: "succeeded" });

  /** A token of the data folder's own, once the server knows it; answers the secret. */
  async makeToken(name: string, role: string): Promise<string> {
    const told = execFileSync(BINARY, ["token", "create", name, "--role", role, "--data", "data"], { cwd: this.folder, encoding: "utf8" });
    const headers = { Authorization: `Bearer ${told.trim()}` };
    for (let tries = 0; tries < 100; tries++) {
      const response = await fetch(`${this.url}/v1/whoami`, { headers });
      if (response.ok) return told.trim();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("the server does not take up the new token");
  }

  revokeToken(name: string): void {
    execFileSync(BINARY, ["token", "revoke", name, "--data", "data"], { cwd: this.folder });
  }

  async moveClock(ms: number): Promise<void> {
    await this.call("POST", "/v1/clock", { advance: ms });
  }

  /** Until the second engine has taken everything there was. */
  async settled(): Promise<void> {
    for (let tries = 0; tries < 200; tries++) {
      const answer = await this.call<{ reach: { lag: number } }>("GET", "/v1/history?most=1");
      if (answer.reach.lag === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error("the history does not catch up");
  }
}

/** What the command line says, with `--json`. */
export function cli<T>(server: Server, ...words: string[]): T {
  const told = execFileSync(BINARY, [...words, "--url", server.url, "--json"], { encoding: "utf8" });
  return JSON.parse(told) as T;
}

/** What `maitred doctor` finds; it ends with status 1 where something failed. */
export function doctor(server: Server): { findings: { check: string; found: string }[] } {
  const told = spawnSync(BINARY, ["doctor", "--url", server.url, "--json"], { encoding: "utf8" });
  return JSON.parse(told.stdout);
}

/** The command line that Studio offered, run as it stands. */
export function typed(line: string): string {
  const [program, ...rest] = line.split(" ");
  if (program !== "maitred") throw new Error(`not a command of ours: ${line}`);
  return execFileSync("sh", ["-c", `"$0" ${rest.join(" ")}`, BINARY], { encoding: "utf8" });
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    (response) => response.ok,
    () => false,
  );
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
