import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** A program that can be killed and started again. */
export class Program {
  #child: ChildProcess | undefined;
  readonly #start: () => ChildProcess;
  readonly #isUp: () => Promise<boolean>;
  #said = '';

  constructor(start: () => ChildProcess, isUp: () => Promise<boolean>) {
    this.#start = start;
    this.#isUp = isUp;
  }

  async start(): Promise<void> {
    const child = this.#start();
    this.#child = child;
    const keep = (bytes: Buffer) => void (this.#said = (this.#said + bytes.toString()).slice(-20_000));
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    for (let tried = 0; tried < 600; tried += 1) {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${this.#said}`);
      if (await this.#isUp().catch(() => false)) return;
      await pause(100);
    }
    throw new Error(`it is not up after a minute: ${this.#said}`);
  }

  /** `kill -9`. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** The end of what it printed. */
  get said(): string {
    return this.#said;
  }
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A port that nobody has; both programs must come back on theirs. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

export function start(command: string, args: string[], cwd: string, env: Record<string, string>): ChildProcess {
  return spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Asks until it is so. */
export async function eventually<T>(what: string, look: () => Promise<T | false | undefined>, withinMs = 40_000): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    const seen = await look().catch(() => undefined);
    if (seen !== false && seen !== undefined) return seen;
    if (Date.now() > until) throw new Error(`${what}: not within ${withinMs} ms`);
    await pause(100);
  }
}
