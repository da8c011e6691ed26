import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Compiled against the sources, by the names a reader imports. */
it('shows what compiles', () => {
  const readme = readFileSync(`${root}README.md`, 'utf8');
  const snippets = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!);
  expect(snippets.length).toBeGreaterThan(2);
  const folder = mkdtempSync(`${root}node_modules/.readme-`);
  try {
    cpSync(`${root}test/register.types.ts`, `${folder}/register/register.types.ts`);
    snippets.forEach((code, index) => writeFileSync(`${folder}/snippet-${index}.ts`, `${code}\nexport {};\n`));
    const entries = { maitred: 'index', 'maitred/workflow': 'workflow', 'maitred/host': 'host/index', 'maitred/testing': 'testing/index' };
    const paths = Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, [`${root}src/${file}.ts`]]));
    const compilerOptions = { rootDir: root, noEmit: true, noUnusedLocals: false, paths };
    const config = { extends: `${root}tsconfig.json`, compilerOptions, include: [`${folder}/*.ts`] };
    const registered = { ...config, include: [`${folder}/register/*.ts`] };
    writeFileSync(`${folder}/register/tsconfig.json`, JSON.stringify(registered));
    writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(config));
    for (const project of [folder, `${folder}/register`]) {
      execFileSync('npx', ['--no-install', 'tsc', '-p', project], { cwd: root, encoding: 'utf8', stdio: 'pipe' });
    }
  } catch (error) {
    expect.fail((error as { stdout?: string }).stdout ?? String(error));
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 240_000);
