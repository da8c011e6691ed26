// Writes src/generated/v1.ts from the committed OpenAPI document. A test compares the two.
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';

const document = new URL('../../../openapi/v1.json', import.meta.url);
export const target = new URL('../src/generated/v1.ts', import.meta.url);

export async function generated() {
  const ast = await openapiTS(JSON.parse(await readFile(document, 'utf8')), { alphabetize: true });
  return `// Generated from openapi/v1.json by \`npm run generate\`. Do not edit.\n\n${astToString(ast)}`;
}

if (process.argv[1] === new URL(import.meta.url).pathname) await writeFile(target, await generated());
