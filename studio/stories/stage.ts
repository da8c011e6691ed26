// What every story has: a server of its own, and a page that is watched. A request to another origin, an error on the
// console or a dialog of the browser fails the story.
import AxeBuilder from "./axe";
import { type Page, expect, test as base } from "@playwright/test";
import { type Options, Server } from "./server";

interface Fixtures {
  options: Options;
  server: Server;
  /** Messages on the console that a story expects. */
  expected: RegExp[];
}

export const test = base.extend<Fixtures>({
  options: [{}, { option: true }],
  expected: [[], { option: true }],
  server: async ({ options }, use) => {
    const server = await Server.start(options);
    await use(server);
    await server.end();
  },
  page: async ({ page, server, expected }, use) => {
    const wrong: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(server.url)) wrong.push(`a request to ${request.url()}`);
    });
    page.on("console", (message) => {
      const text = message.text();
      if (message.type() === "error" && !expected.some((known) => known.test(text))) wrong.push(text);
    });
    page.on("pageerror", (error) => wrong.push(error.message));
    page.on("dialog", (dialog) => {
      wrong.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await use(page);
    expect(wrong).toEqual([]);
  },
});

export { expect };

export const studio = (server: Server, path = "/limits"): string => `${server.url}/studio${path}`;

/** Nothing that axe finds, and no wider than the window. */
export async function isSound(page: Page, what: string): Promise<void> {
  expect(await AxeBuilder(page), what).toEqual([]);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(overflow, `${what} is wider than the window`).toBeLessThanOrEqual(0);
}

/** Row of a table with this text in it. */
export const row = (page: Page, text: string) => page.locator("tr[data-row]", { hasText: text });

export const dot = (page: Page) => page.locator(".dot-state");
