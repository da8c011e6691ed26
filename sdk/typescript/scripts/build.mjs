// Plain `tsc`: the directives of workflows and steps must reach the DevKit as they are written, unminified.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';

const here = new URL('..', import.meta.url);
rmSync(new URL('dist', here), { recursive: true, force: true });
execFileSync('npx', ['--no-install', 'tsc', '-p', '.'], { cwd: here, stdio: 'inherit' });

// The identity of a step or workflow is the name and version of the nearest package.json that has both. This one
// pins them, so that a release of the package does not break runs that wait. Change the version only when a step
// changes so much that runs begun before cannot go on.
const pin = { name: 'maitred', version: '1.0.0-durable', type: 'module', private: true };
writeFileSync(new URL('dist/durable/package.json', here), `${JSON.stringify(pin, null, 2)}\n`);
