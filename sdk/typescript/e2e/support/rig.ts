/** Server, app and provider of one test file, each on a port of its own. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { Maitred } from '../../src/index.js';
import { binary } from '../../test/support/server.js';
import { eventually, freePort, Program, start } from './process.js';
import { Provider } from './provider.js';

const execute = promisify(execFile);
const SECRET = 'a-secret-of-the-tests-0123456789abcdef';

export interface Run {
  id: string;
  status: string;
  output?: unknown;
}

export class Rig {
  readonly folder = inject('folder');
  readonly data = mkdtempSync(join(tmpdir(), 'maitred-e2e-data-'));
  maitred!: Maitred;
  server!: Program;
  app!: Program;
  provider!: Provider;
  #app = '';

  /** With a clock that is moved by hand, a day passes in no time; without, the machine's own. */
  static async start(options: { isManual: boolean }): Promise<Rig> {
    const rig = new Rig();
    const [serverPort, appPort] = [await freePort(), await freePort()];
    rig.#app = `http://127.0.0.1:${appPort}`;
    rig.maitred = new Maitred({ url: `http://127.0.0.1:${serverPort}` });
    rig.provider = await new Provider().start();
    rig.server = rig.#serverOn(serverPort, options.isManual);
    rig.app = rig.#appOn(appPort);
    await rig.server.start();
    await rig.app.start();
    return rig;
  }

  #serverOn(port: number, isManual: boolean): Program {
    const config = `[callbacks.calls]\nurl = "${this.#app}/maitred"\nnetwork = "loopback"\n`;
    writeFileSync(join(this.data, 'maitred.toml'), config);
    const args = ['serve', '--data', 'journal', '--listen', `127.0.0.1:${port}`];
    const env = { MAITRED_CALLBACK_SECRET: SECRET, MAITRED_LOG: 'info,maitred_server::callbacks=debug' };
    const run = () => start(binary(), isManual ? [...args, '--clock', 'manual'] : args, this.data, env);
    return new Program(run, async () => (await fetch(`${this.maitred.url}/readyz`)).ok);
  }

  #appOn(port: number): Program {
    const env = {
      PORT: String(port),
      MAITRED_URL: this.maitred.url,
      MAITRED_CALLBACK_SECRET: SECRET,
      PROVIDER_URL: this.provider.url,
      WORKFLOW_LOCAL_DATA_DIR: this.world,
    };
    // Not through npm, which would survive a kill of its child, or hide it.
    const run = () => start(process.execPath, ['--import', 'tsx', 'server.mts'], this.folder, env);
    return new Program(run, async () => (await fetch(`${this.#app}/runs/none`)).status === 404 && this.app.said.includes('listens on'));
  }

  /** Where the engine keeps its runs. */
  get world(): string {
    return join(this.data, 'world');
  }

  async stop(): Promise<void> {
    await this.app.kill();
    await this.server.kill();
    this.provider.stop();
    rmSync(this.data, { recursive: true, force: true });
  }

  /** The id of the run that was started. */
  async start(workflow: string, input: object): Promise<string> {
    const response = await this.post(workflow, JSON.stringify(input));
    if (!response.ok) throw new Error(`${workflow}: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { run: string }).run;
  }

  /** Whatever a caller may send. */
  post(workflow: string, body: string): Promise<Response> {
    return fetch(`${this.#app}/workflows/${workflow}`, { method: 'POST', body });
  }

  async run(id: string): Promise<Run> {
    return (await (await fetch(`${this.#app}/runs/${id}`)).json()) as Run;
  }

  async cancel(id: string): Promise<void> {
    await fetch(`${this.#app}/runs/${id}/cancel`, { method: 'POST' });
  }

  /** What the run returned. */
  async output(id: string, withinMs?: number): Promise<unknown> {
    const { output } = await eventually(`${id} completes`, async () => {
      const run = await this.run(id);
      if (run.status === 'failed') throw new Error(`${id} failed`);
      return run.status === 'completed' && run;
    }, withinMs);
    return output;
  }

  /** Until the run's slot stands like this; its id. */
  async slotOf(run: string, state: string, withinMs?: number): Promise<string> {
    return eventually(`${run} is ${state}`, async () => {
      const { slots } = await this.maitred.runs.get(run);
      return slots.find((slot) => slot.state === state)?.slot;
    }, withinMs);
  }

  async advance(ms: number): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    await fetch(`${this.maitred.url}/v1/clock`, { method: 'POST', headers, body: JSON.stringify({ advance: ms }) });
  }

  /** As the limiter does it, whether or not there is news. */
  async wake(slot: string, limit: string, run: string): Promise<number> {
    return (await this.callBack({ type: 'slot', slot, limit, run, state: 'reserved' })).status;
  }

  async callBack(body: unknown, secret = SECRET): Promise<Response> {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    return fetch(`${this.#app}/maitred`, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  /** A line of a shell, as it stands in the example's README. */
  async type(line: string): Promise<string> {
    const path = [dirname(binary()), process.env.PATH].join(delimiter);
    const env = { ...process.env, PATH: path, MAITRED_URL: this.maitred.url, WORKFLOW_LOCAL_DATA_DIR: this.world };
    const here = line.replace('http://127.0.0.1:3000', this.#app);
    return (await execute('sh', ['-c', here], { cwd: this.folder, env })).stdout;
  }

  /** The engine's own command line, which works without the app. */
  async devkit(...args: string[]): Promise<string> {
    const env = { ...process.env, WORKFLOW_LOCAL_DATA_DIR: this.world };
    return (await execute('npx', ['--no-install', 'workflow', ...args], { cwd: this.folder, env })).stdout;
  }

  /** Whether the engine has written down that a run waits for this slot. */
  hasHook(slot: string): boolean {
    const hooks = join(this.world, 'hooks');
    return readdirSync(hooks).some((file) => file.endsWith('.json') && readFileSync(join(hooks, file), 'utf8').includes(slot));
  }

  /** The command line of the limiter. */
  async cli(...args: string[]): Promise<string> {
    return (await execute(binary(), [...args, '--url', this.maitred.url])).stdout;
  }
}
