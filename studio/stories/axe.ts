import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";

const SOURCE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** What axe finds on the page as it is, by the rules of WCAG 2.2 AA and good practice. */
export default async function violations(page: Page): Promise<string[]> {
  // Not as a script of the page, which its policy would refuse: as the browser's own.
  await page.evaluate(SOURCE);
  const found = await page.evaluate(async () => {
    const axe = (window as unknown as { axe: { run: () => Promise<{ violations: Violation[] }> } }).axe;
    return (await axe.run()).violations;
  });
  return found.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary ?? ""}`));
}
