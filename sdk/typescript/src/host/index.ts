/**
 * The app's side of workflows with limits: declares the workspace's limits, starts workflows, and takes the limiter's
 * callbacks. Web-standard handlers: see the README for plain Node, Hono and Nitro.
 */
import { getRun, start as startRun, type Run } from 'workflow/api';
import { getWorld } from 'workflow/runtime';
import { Maitred } from '../client.js';
import { runSerially } from '../durable/serial.js';
import { MaitredError } from '../errors.js';
import type { ClientOptions } from '../http.js';
import { limitsOf, type Workspace } from '../workspace.js';
import { callbackHandler } from './callback.js';
import type { Manifest } from './devkit.js';
import { workflowName, workflowsOf, type Workflow } from './workflows.js';

export { callbackHandler } from './callback.js';
export { devkit, type DevKit, type Manifest } from './devkit.js';
export { nodeListener } from './node.js';
export { workflowsOf, type Workflow } from './workflows.js';

export interface HostOptions extends ClientOptions {
  workspace: Workspace;
  /** What the DevKit built, by which workflows are started by name. Not needed to start them by their functions. */
  manifest?: Manifest;
  /** Where `workflows/` is. The current folder if not given. */
  folder?: string;
  /** `MAITRED_CALLBACK_SECRET` if not given. */
  secret?: string;
}

/** A workflow function, as the DevKit's compiler leaves it in an app's code. */
type WorkflowFunction<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;

export class Host {
  /** Takes the limiter's callbacks. */
  readonly callback: (request: Request) => Promise<Response>;
  readonly #options: HostOptions;
  readonly #maitred: Maitred;
  #workflows: Promise<Workflow[]> | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
    const onRetry = (error: MaitredError) => console.warn(`limits are not deployed yet: ${error.message}`);
    this.#maitred = new Maitred({ patienceMs: Infinity, onRetry, ...options });
    this.callback = callbackHandler(options);
  }

  /**
   * Deploys the workspace's limits, and lets the engine go on with what a former process left. Call it when the app
   * starts and takes requests. A limiter that is not there is waited for, and a warning says so.
   */
  async begin(): Promise<void> {
    await this.workflows();
    await this.#maitred.limits.deploy(limitsOf(this.#options.workspace));
    await getWorld().start?.();
  }

  /** The app's workflows. */
  workflows(): Promise<Workflow[]> {
    return (this.#workflows ??= workflowsOf(this.#options.workspace, this.#options.folder ?? '.'));
  }

  /** Starts a workflow by its name, or by its function. A serial one waits for its turn before it begins. */
  async start<Args extends unknown[], Result>(
    workflow: string | WorkflowFunction<Args, Result>,
    ...args: Args
  ): Promise<Run<Result>> {
    const { name, workflowId } = await this.#known(workflow as string | { workflowId?: string });
    const isSerial = (await this.workflows()).some((known) => known.name === name && known.serial);
    if (!isSerial) return startRun({ workflowId }, args) as Promise<Run<Result>>;
    const input = [name, workflowId, args];
    return startRun({ workflowId: this.#serialId() }, input) as Promise<Run<Result>>;
  }

  /** A run by its id. */
  run(runId: string): Run<unknown> {
    return getRun(runId);
  }

  async #known(workflow: string | { workflowId?: string }): Promise<{ name: string; workflowId: string }> {
    if (typeof workflow === 'string') return { name: workflow, workflowId: await this.#idOf(workflow) };
    const { workflowId } = workflow;
    if (!workflowId) throw new MaitredError('invalid_argument', "this is no workflow: its function has no 'use workflow'");
    return { name: workflowName(workflowId.split('//')[1] ?? ''), workflowId };
  }

  async #idOf(name: string): Promise<string> {
    const workflow = (await this.workflows()).find((known) => known.name === name);
    const known = (await this.workflows()).map(({ name }) => name).join(', ');
    if (!workflow) throw new MaitredError('not_found', `there is no workflow \`${name}\`; there are: ${known || 'none'}`);
    const built = Object.values(this.#options.manifest?.[workflow.file] ?? {});
    if (built.length === 1) return built[0]!.workflowId;
    const what = built.length === 0 ? 'is not in the build; build anew: npx workflow build' : 'has several workflows';
    throw new MaitredError('not_found', `workflow \`${name}\`: ${workflow.file} ${what}`);
  }

  /** The compiler gives it to the function; where the app's own code is not compiled, it stands in the manifest. */
  #serialId(): string {
    const { workflowId } = runSerially as { workflowId?: string };
    const built = Object.values(this.#options.manifest ?? {}).flatMap((file) => file.runSerially ?? []);
    const id = workflowId ?? built[0]?.workflowId;
    if (id) return id;
    throw new MaitredError('not_found', 'no workflow imports maitred/workflow, so serial ones cannot be started');
  }
}
