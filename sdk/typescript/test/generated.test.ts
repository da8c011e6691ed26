import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
// @ts-expect-error: a plain script
import { generated, target } from '../scripts/generate.mjs';

it('has the types of the committed OpenAPI document', async () => {
  const [now, committed] = [await (generated as () => Promise<string>)(), await readFile(target as URL, 'utf8')];
  expect(committed === now, 'src/generated/v1.ts is old; write it anew: npm run generate').toBe(true);
});
