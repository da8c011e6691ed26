// A page stays honest while the server is gone, while nobody looks, and while it is told to hold still.
import { dot, expect, row, studio, test } from "./stage";

test.use({ expected: [/Failed to load resource|ERR_/] });

test.beforeEach(async ({ server }) => {
  await server.declare("voice", 3, "10m");
  await server.acquire("voice", "v1", { run: "r1", label: "call 1" });
});

test("the server is killed under an open page and comes back", async ({ page, server }) => {
  await page.goto(studio(server, "/limits/voice"));
  await expect(dot(page)).toHaveText("Live");
  await server.kill();
  await expect(dot(page)).toHaveText("Reconnecting", { timeout: 3_000 });
  await expect(page.locator("main")).toHaveClass(/stale/);
  await expect(row(page, "call 1")).toBeVisible();
  await row(page, "call 1").getByRole("button", { name: "Release" }).click();
  await page.getByRole("button", { name: "Release slot", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("the server cannot be reached");
  await server.startAgain();
  await expect(dot(page)).toHaveText("Live");
  await expect(page.locator("main")).not.toHaveClass(/stale/);
  await page.getByRole("button", { name: "Try again" }).last().click();
  await expect(page.getByText("Released. The place is free.")).toBeVisible();
  await expect(page.getByText("Nobody holds a slot")).toBeVisible();
});

test("what happens is seen at once", async ({ page, server }) => {
  await page.goto(studio(server, "/limits/voice"));
  await expect(dot(page)).toHaveText("Live");
  await server.acquire("voice", "v2", { run: "r2", label: "call 2" });
  await expect(row(page, "call 2")).toBeVisible({ timeout: 2_000 });
  await page.goto(studio(server));
  await expect(dot(page)).toHaveText("Live");
  await server.acquire("voice", "v3", { run: "r3" });
  await expect(row(page, "voice").locator(".use")).toContainText("3 / 3", { timeout: 4_000 });
});

test("a tab that nobody sees asks for nothing", async ({ page, server }) => {
  await page.goto(studio(server, "/limits/voice"));
  await expect(dot(page)).toHaveText("Live");
  await hide(page, true);
  await expect(dot(page)).toHaveText("Paused (tab hidden)");
  let asked = 0;
  page.on("request", () => (asked += 1));
  await server.acquire("voice", "v2", { label: "call 2" });
  await page.waitForTimeout(1_500);
  expect(asked).toBe(0);
  await hide(page, false);
  await expect(row(page, "call 2")).toBeVisible();
  await expect(dot(page)).toHaveText("Live");
});

test("it holds still when told to", async ({ page, server }) => {
  await page.goto(studio(server, "/limits/voice"));
  await expect(dot(page)).toHaveText("Live");
  await page.keyboard.press(".");
  await expect(dot(page)).toHaveText("Paused");
  await server.acquire("voice", "v2", { label: "call 2" });
  await page.waitForTimeout(700);
  await expect(row(page, "call 2")).toHaveCount(0);
  await page.getByLabel("How often to look anew").selectOption("5");
  await expect(dot(page)).toHaveText("Every 5 s");
  await expect(row(page, "call 2")).toBeVisible();
});

test("rows do not move under the pointer", async ({ page, server }) => {
  for (const slot of ["v2", "v3"]) await server.acquire("voice", slot, { label: `call ${slot}` });
  await page.goto(studio(server, "/limits/voice"));
  await row(page, "call v2").hover();
  await server.call("POST", "/v1/slots/v1/release");
  const gone = page.locator("tr.gone", { hasText: "call 1" });
  await expect(gone).toBeVisible();
  await server.acquire("voice", "v4", { label: "call v4" });
  await expect(page.getByText("1 more will come when you point elsewhere.")).toBeVisible();
  await expect(page.locator("tr[data-row]").nth(1)).toContainText("call v2");
  await page.mouse.move(0, 0);
  await expect(row(page, "call v4")).toBeVisible();
  await expect(gone).toHaveCount(0);
});

async function hide(page: import("@playwright/test").Page, isHidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  }, isHidden);
}
