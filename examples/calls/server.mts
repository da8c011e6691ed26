// The app: plain Node, no framework. `npm run build` makes the workflows, `npm start` runs this.
import { createServer } from 'node:http';
import { devkit, Host, nodeListener } from 'maitred/host';
import workspace from './maitred.config.mjs';

const port = Number((process.env.PORT ??= '3000'));
const engine = await devkit();
const host = new Host({ workspace, manifest: engine.manifest });

async function answer(request: Request): Promise<Response> {
  const [, what, name = '', verb] = new URL(request.url).pathname.split('/').map(decodeURIComponent);
  if (what === 'maitred') return host.callback(request);
  if (request.method === 'POST' && what === 'workflows') {
    const run = await host.start(name, await request.json());
    return Response.json({ run: run.runId });
  }
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

// Loopback only: the engine's own routes ask for no password.
createServer(nodeListener(answer)).listen(port, '127.0.0.1', async () => {
  await host.begin();
  console.log(`calls listens on http://127.0.0.1:${port}`);
});
