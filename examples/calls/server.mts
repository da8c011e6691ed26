// The app: plain Node, no framework. `npm run build` makes the workflows, `npm start` runs this.
import { createServer } from 'node:http';
import { devkit, Host, nodeListener } from 'maitred/host';
import { z } from 'zod';
import workspace from './maitred.config.mjs';

const port = Number((process.env.PORT ??= '3000'));
const engine = await devkit();
const host = new Host({ workspace, manifest: engine.manifest });

/**
 * What each workflow takes: the `inputSchema` that its file exports, if it does. `workflows/package.json` makes those files
 * modules: `workflow` cannot be loaded by CommonJS.
 */
const schemas = new Map<string, z.ZodType | undefined>();
for (const { name, file } of await host.workflows()) schemas.set(name, (await import(`./${file}`)).inputSchema);

async function answer(request: Request): Promise<Response> {
  const [, what, name = '', verb] = new URL(request.url).pathname.split('/').map(decodeURIComponent);
  if (what === 'maitred') return host.callback(request);
  if (request.method === 'POST' && what === 'workflows') return start(name, await request.text());
  if (what === 'runs') {
    const run = host.run(name);
    if (!(await run.exists)) return Response.json({ error: 'no such run' }, { status: 404 });
    if (request.method === 'POST' && verb === 'cancel') await run.cancel();
    const status = await run.status;
    const output = status === 'completed' ? await run.returnValue : undefined;
    return Response.json({ run: name, status, output });
  }
  return (await engine.handle(request)) ?? Response.json({ error: 'not found' }, { status: 404 });
}

async function start(name: string, body: string): Promise<Response> {
  const refused = (status: number, error: string) => Response.json({ error }, { status });
  if (!schemas.has(name)) return refused(404, `there is no workflow ${name}; there are: ${[...schemas.keys()].join(', ')}`);
  let input: unknown;
  try {
    input = JSON.parse(body);
  } catch (error) {
    return refused(400, `the body is not JSON: ${(error as Error).message}`);
  }
  const checked = (schemas.get(name) ?? z.unknown()).safeParse(input);
  if (!checked.success) return refused(400, z.prettifyError(checked.error));
  const run = await host.start(name, checked.data);
  return Response.json({ run: run.runId });
}

// Loopback only: the engine's own routes ask for no password.
createServer(nodeListener(answer)).listen(port, '127.0.0.1', async () => {
  await host.begin();
  console.log(`calls listens on http://127.0.0.1:${port}`);
});
