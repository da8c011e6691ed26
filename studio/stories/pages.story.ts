// Every page with data on it, in both themes, wide and at 360 px: sound by axe, no wider than the window, and looked at.
// The pictures land in node_modules/.stories; the one of the front page is kept in the repository (SHOT=1).
import type { Browser, Page } from "@playwright/test";
import { LIMITS, evening } from "./scene";
import { Server } from "./server";
import { expect, isSound, test } from "./stage";

const PAGES: Record<string, string> = {
  limits: "/limits",
  limit: "/limits/partner-api",
  leaking: "/limits/voice-calls?range=15m",
  paused: "/limits/crm-export",
  slot: "/explain/invoice 2051",
  runs: "/runs",
  run: "/runs/run-9001",
  rates: "/rates?reveal=true",
  rate: "/rates/describe-image/user=4711",
  audit: "/audit",
  health: "/health",
};

let server: Server;

test.beforeAll(async () => {
  test.setTimeout(300_000); // an hour is told call by call
  server = await Server.start({ manualClock: true, limits: LIMITS });
  await evening(server, 66);
});

test.afterAll(() => server.end());

async function opened(browser: Browser, theme: "light" | "dark", width: number, path: string): Promise<Page> {
  const viewport = { width, height: 900 };
  const context = await browser.newContext({ colorScheme: theme, viewport, locale: "en-GB", timezoneId: "Europe/Madrid", reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(`${server.url}/studio${path}`);
  await expect(page.locator("h1")).toBeVisible();
  await expect(page.locator(".skeleton")).toHaveCount(0);
  return page;
}

for (const theme of ["light", "dark"] as const) {
  for (const [name, path] of Object.entries(PAGES)) {
    test(`${name}, ${theme}`, async ({ browser }, info) => {
      const page = await opened(browser, theme, 1440, path);
      await isSound(page, name);
      await page.screenshot({ path: info.outputPath(`${name}.png`), fullPage: true });
      await page.setViewportSize({ width: 360, height: 780 });
      await isSound(page, `${name} at 360 px`);
      await page.screenshot({ path: info.outputPath(`${name}-360.png`), fullPage: true });
      await page.context().close();
    });
  }

  test(`dialogs, ${theme}`, async ({ browser }, info) => {
    const page = await opened(browser, theme, 1440, "/limits/partner-api");
    const look = async (name: string) => {
      await expect(page.getByRole("dialog")).toBeVisible();
      await isSound(page, name);
      await page.screenshot({ path: info.outputPath(`${name}.png`) });
      await page.keyboard.press("Escape");
      await expect(page.getByRole("dialog")).toHaveCount(0);
    };
    await page.locator("tr[data-row]", { hasText: "still holding" }).getByRole("button", { name: "Release" }).click();
    await look("release");
    await page.getByLabel("Select all").check();
    await page.getByRole("button", { name: "Release 5 slots…" }).click();
    await look("release-many");
    await isSound(page, "a selection");
    await page.getByRole("button", { name: "Select none" }).click();
    await page.getByRole("button", { name: "Edit…" }).click();
    await page.getByLabel("Capacity", { exact: true }).fill("8");
    await expect(page.getByRole("status").filter({ hasText: "start now" })).toBeVisible();
    await look("edit");
    await page.getByRole("button", { name: "Pause…" }).click();
    await look("pause");
    await page.keyboard.press("?");
    await look("help");
    await page.context().close();
  });

  test(`the theme that was chosen stays, ${theme}`, async ({ browser }) => {
    const page = await opened(browser, theme === "light" ? "dark" : "light", 1440, "/limits");
    const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const before = await paper();
    await page.getByLabel("Settings").click();
    await page.getByLabel("Theme").selectOption(theme);
    await expect.poll(paper).not.toBe(before);
    const chosen = await paper();
    await page.reload({ waitUntil: "commit" });
    await page.waitForFunction(() => document.documentElement.dataset["theme"] !== undefined);
    expect(await paper()).toBe(chosen);
    await page.context().close();
  });
}

test("the picture on the front page", async ({ browser }) => {
  test.skip(!process.env["SHOT"], "made anew with SHOT=1");
  const page = await opened(browser, "light", 1280, "/limits/partner-api");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.screenshot({ path: "../docs/src/studio.png" });
  await page.context().close();
});
