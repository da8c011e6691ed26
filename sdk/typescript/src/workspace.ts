/**
 * What an app declares: its limits, and where it wants to say so, its workflows.
 *
 * ```ts
 * export default defineWorkspace({
 *   limits: { 'voice-calls': { capacity: 20, maxHold: '45m' } },
 * });
 * ```
 *
 * Without `workflows`, every `workflows/**\/NAME.workflow.ts` is one. A `workflows` list replaces that scan.
 */
import type { LimitFields } from './client.js';
import { checkedDuration, type Duration } from './duration.js';
import { MaitredError } from './errors.js';

export interface WorkflowEntry {
  /** What the workflow is started by: the file's name without `.workflow.ts`. */
  name: string;
  /** `workflows/NAME.workflow.ts` if not given. */
  file?: string;
  /** One run at a time, in arrival order: a whole run waits before it starts. */
  serial?: boolean;
}

export interface WorkspaceFields<Name extends string = string> {
  limits?: Record<Name, LimitFields>;
  workflows?: WorkflowEntry[];
}

export interface Workspace<Name extends string = string> {
  readonly limits: Readonly<Record<Name, Readonly<LimitFields>>>;
  /** The list, if there was one. */
  readonly workflows: readonly WorkflowEntry[] | undefined;
}

const NAME = /^[a-z0-9._-]{1,64}$/;
const NAME_ALLOWED = '1 to 64 of a-z 0-9 . _ -';
const CAPACITY_MOST = 100_000;
const MAX_HOLD_MOST_MS = 30 * 86_400_000;
const SERIAL_NAME_MOST = 57;
const SERIAL_MAX_HOLD: Duration = '30d';

/** Checks everything, and names the limit and the field that is wrong. */
export function defineWorkspace<const Name extends string = never>(fields: WorkspaceFields<Name>): Workspace<Name> {
  only(fields, ['limits', 'workflows'], 'the workspace', 'invalid_argument');
  const limits = (fields.limits ?? {}) as Record<Name, LimitFields>;
  for (const [name, limit] of Object.entries<LimitFields>(limits)) checkLimit(name, limit);
  const workflows = fields.workflows?.map(checkWorkflow);
  const names = workflows?.map(({ name }) => name) ?? [];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) wrong('invalid_argument', `workflow \`${twice}\`: name: it is listed twice`);
  return Object.freeze({ limits: Object.freeze({ ...limits }), workflows });
}

function checkLimit(name: string, limit: LimitFields): void {
  if (!NAME.test(name)) wrong('invalid_limit_name', `limit \`${name}\`: name: allowed: ${NAME_ALLOWED}`);
  if (name.startsWith('serial.')) {
    wrong('invalid_limit_name', `limit \`${name}\`: name: \`serial.…\` is kept for workflows with \`serial: true\``);
  }
  only(limit, ['capacity', 'maxHold'], `limit \`${name}\``, 'invalid_argument');
  const { capacity, maxHold } = limit;
  if (!Number.isInteger(capacity) || capacity < 1 || capacity > CAPACITY_MOST) {
    const given = JSON.stringify(capacity) ?? 'nothing';
    wrong('invalid_capacity', `limit \`${name}\`: capacity: ${given} is not a whole number from 1 to ${CAPACITY_MOST}`);
  }
  checkedDuration(maxHold, `limit \`${name}\`: maxHold`, 'invalid_max_hold', 1, MAX_HOLD_MOST_MS);
}

function checkWorkflow(entry: WorkflowEntry): WorkflowEntry {
  const name = entry?.name;
  if (typeof name !== 'string' || name === '') wrong('invalid_argument', 'a workflow: name: it has none');
  only(entry, ['name', 'file', 'serial'], `workflow \`${name}\``, 'invalid_argument');
  if (entry.serial && (!NAME.test(name) || name.length > SERIAL_NAME_MOST)) {
    const allowed = `1 to ${SERIAL_NAME_MOST} of a-z 0-9 . _ -, as it becomes the limit \`serial.NAME\``;
    wrong('invalid_limit_name', `workflow \`${name}\`: name: a serial workflow is called by ${allowed}`);
  }
  return Object.freeze({ ...entry });
}

function only(value: object, fields: string[], what: string, code: string): void {
  if (typeof value !== 'object' || value === null) wrong(code, `${what}: it is not an object with ${fields.join(', ')}`);
  const unknown = Object.keys(value).find((name) => !fields.includes(name));
  if (unknown !== undefined) wrong(code, `${what}: ${unknown}: there is no such field; allowed: ${fields.join(', ')}`);
}

function wrong(code: string, message: string): never {
  throw new MaitredError(code, message);
}

/** The limit under which the runs of a serial workflow queue. */
export const serialLimit = (workflow: string) => `serial.${workflow}`;

/** Everything that is deployed: the declared limits, and one for each serial workflow. */
export function limitsOf(workspace: Workspace): Record<string, LimitFields> {
  const serial = (workspace.workflows ?? []).filter((entry) => entry.serial);
  const own = serial.map(({ name }) => [serialLimit(name), { capacity: 1, maxHold: SERIAL_MAX_HOLD }] as const);
  return { ...workspace.limits, ...Object.fromEntries(own) };
}
