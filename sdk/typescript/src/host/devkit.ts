/**
 * Workflow DevKit in a plain Node program: the bundles that `workflow build` makes, as one handler, and what stands in
 * their manifest. Frameworks that the DevKit knows do this by themselves.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MaitredError } from '../errors.js';

/** Workflow ids by file and by name of the function. */
export type Manifest = Record<string, Record<string, { workflowId: string }>>;

export interface DevKit {
  manifest: Manifest;
  /** Answers what is the engine's own, and nothing else. */
  handle(request: Request): Promise<Response | undefined>;
}

type Handler = (request: Request) => Promise<Response>;

const ROUTES = '/.well-known/workflow/v1/';

/** Reads what `workflow build` has made in the folder. */
export async function devkit(folder = '.'): Promise<DevKit> {
  const built = resolve(folder, '.well-known/workflow/v1');
  if (!existsSync(join(built, 'manifest.json'))) {
    throw new MaitredError('not_found', `${built} has no manifest.json; build the workflows first: npx workflow build`);
  }
  const require = createRequire(join(built, 'here.cjs'));
  const [flow, step] = [require('./flow.js'), require('./step.js')] as { POST: Handler }[];
  const webhook = (await import(pathToFileURL(join(built, 'webhook.js')).href)) as Record<string, Handler>;
  const { workflows } = require('./manifest.json') as { workflows: Manifest };
  return {
    manifest: workflows,
    async handle(request) {
      const { pathname } = new URL(request.url);
      if (pathname === `${ROUTES}flow`) return flow!.POST(request);
      if (pathname === `${ROUTES}step`) return step!.POST(request);
      if (pathname.startsWith(`${ROUTES}webhook/`)) return (webhook[request.method] ?? webhook.POST!)(request);
      return undefined;
    },
  };
}
