/** A real server for all tests of a run, in memory, its clock moved by hand. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    url: string;
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const server = spawn(binary(), ['dev', '--clock', 'manual', '--listen', '127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, MAITRED_LOG: 'error' },
  });
  const first = once(createInterface(server.stdout), 'line') as Promise<[string]>;
  const died = once(server, 'exit').then(([code]) => Promise.reject(new Error(`the server ended with ${String(code)}`)));
  const [line] = await Promise.race([first, died]);
  died.catch(() => undefined);
  project.provide('url', line.split(' listens on ')[1]!);
  return () => void server.kill('SIGKILL');
}

/** `MAITRED_BIN`, or what was built last in this repository. */
export function binary(): string {
  const root = fileURLToPath(new URL('../../../..', import.meta.url));
  const target = process.env.CARGO_TARGET_DIR ?? `${root}target`;
  const built = [process.env.MAITRED_BIN, `${target}/ci/maitred`, `${target}/debug/maitred`, `${target}/release/maitred`];
  const found = built.find((path) => path !== undefined && existsSync(path));
  if (!found) throw new Error('there is no server to test with: cargo build --bin maitred, or set MAITRED_BIN');
  return found;
}
