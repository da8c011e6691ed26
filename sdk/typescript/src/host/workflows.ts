/** Which workflows an app has: by the convention of their files, or as its workspace lists them. */
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { MaitredError } from '../errors.js';
import type { WorkflowEntry, Workspace } from '../workspace.js';

const FILE = /\.workflow\.[cm]?[jt]sx?$/;

export interface Workflow {
  name: string;
  /** From the app's folder, with slashes. */
  file: string;
  serial: boolean;
}

/** What the list says; without one, every `workflows/**\/NAME.workflow.ts`. */
export async function workflowsOf(workspace: Workspace, folder: string): Promise<Workflow[]> {
  const files = await scan(folder);
  if (!workspace.workflows) return files.map((file) => ({ name: workflowName(file), file, serial: false }));
  return workspace.workflows.map((entry) => listed(entry, files));
}

function listed({ name, file, serial = false }: WorkflowEntry, files: string[]): Workflow {
  const found = file === undefined ? files.find((file) => workflowName(file) === name) : file.replace(/^\.\//, '');
  if (found !== undefined && (file !== undefined || files.includes(found))) return { name, file: found, serial };
  throw new MaitredError('not_found', `workflow \`${name}\`: file: there is no workflows/${name}.workflow.ts; name its file`);
}

async function scan(folder: string): Promise<string[]> {
  const root = join(folder, 'workflows');
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile() && FILE.test(entry.name));
  return files.map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/')).sort();
}

/** `place-call` of `workflows/place-call.workflow.ts`, and of a workflow id that has this file in it. */
export const workflowName = (file: string): string => file.split('/').at(-1)!.replace(FILE, '').replace(/\.workflow$/, '');
