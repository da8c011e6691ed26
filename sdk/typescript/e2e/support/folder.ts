/**
 * A fresh folder with the example app, as a user has it: the packed package is installed from its tarball, not linked.
 * To the seed's programs is added what a test needs: a provider that is really called, and workflows that probe.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    folder: string;
  }
}

const sdk = fileURLToPath(new URL('../..', import.meta.url));
export const example = join(sdk, '../../examples/calls');

export default function setup(project: TestProject): () => Promise<void> {
  const folder = process.env.E2E_FOLDER ?? fresh();
  project.provide('folder', folder);
  return async () => {
    if (!process.env.E2E_FOLDER) await rm(folder, { recursive: true, force: true });
  };
}

/** Not what was installed, built or kept by whoever tried the example. */
const isSource = (path: string) => !/[\\/](node_modules|maitred-data|\.[^\\/]*)$/.test(path) && !path.endsWith('package-lock.json');

function fresh(): string {
  const folder = mkdtempSync(join(tmpdir(), 'maitred-e2e-'));
  const run = (command: string, ...args: string[]) => execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const tarball = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: sdk, encoding: 'utf8' }).trim();
  cpSync(example, folder, { recursive: true, filter: isSource });
  cpSync(join(sdk, 'e2e/app'), folder, { recursive: true });
  edit(join(folder, 'package.json'), 'file:../../sdk/typescript', `file:./${tarball}`);
  const dial = "  await fetch(`${process.env.PROVIDER_URL}/dial`, { method: 'POST', body: JSON.stringify({ callId, slotId }) });";
  edit(join(folder, 'workflows/place-call.workflow.ts'), /^ {2}\/\/ Start the call .*$/m, dial);
  run('npm', 'install', '--no-package-lock', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error');
  if (process.env.WORKFLOW_POSTGRES_URL) usePostgres(run);
  run('npm', 'run', 'build', '--silent');
  return folder;
}

/** Runs are kept in that database: the app's process finds both in its environment. */
function usePostgres(run: (command: string, ...args: string[]) => string): void {
  run('npm', 'install', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error', '@workflow/world-postgres@4.3.7');
  run('npx', '--package=@workflow/world-postgres', 'bootstrap');
  process.env.WORKFLOW_TARGET_WORLD = '@workflow/world-postgres';
}

/** Replaces what must be there. */
export function edit(file: string, old: string | RegExp, by: string): void {
  const text = readFileSync(file, 'utf8');
  const edited = text.replace(old, by);
  if (edited === text) throw new Error(`${file} has no ${String(old)}`);
  writeFileSync(file, edited);
}
