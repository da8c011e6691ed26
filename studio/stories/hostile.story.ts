// Text of strangers is only ever text, and stays in its place.
import { expect, isSound, row, studio, test } from "./stage";

const HTML = `<img src=x onerror=alert(1)><b>bold</b>`;
const TURNED = "\u202eevil \u2066txt.exe";
const LONG = "w".repeat(200);

test.use({ options: { manualClock: true } });

test.beforeEach(async ({ server }) => {
  await server.moveClock(Date.now());
  await server.declare("voice", 3, "10m");
  await server.acquire("voice", "a/../b:1", { run: "../../run/<x>".replace(/[<>]/g, "="), label: HTML, workflow: HTML });
  await server.acquire("voice", "s2", { run: "r2", label: TURNED });
  await server.acquire("voice", "s3", { run: "r".repeat(200), label: LONG });
  await server.acquire("voice", "s4", { run: "r4", label: `"quoted' \u0000`.replace("\u0000", "") });
  await server.call("PUT", "/v1/limits/voice/capacity", { capacity: 2 }, { "Maitred-By": "<script>", "Maitred-Reason": "</script><svg/onload=alert(2)>" });
  await server.settled();
});

for (const path of ["/limits/voice", "/runs", "/audit", "/explain/s3"]) {
  test(`on ${path}`, async ({ page, server }) => {
    await page.goto(studio(server, path));
    await expect(page.locator("h1")).toBeVisible();
    await page.waitForTimeout(500);
    expect(await page.locator("main img, main script, main svg[onload], main b >> text=bold").count()).toBe(0);
    await isSound(page, path);
    await page.setViewportSize({ width: 360, height: 800 });
    await isSound(page, `${path} at 360 px`);
  });
}

test("labels are shown as they are, each in its own direction", async ({ page, server }) => {
  await page.goto(studio(server, "/limits/voice"));
  await expect(row(page, HTML)).toBeVisible();
  const turned = page.locator("bdi", { hasText: "evil" });
  await expect(turned).toBeVisible();
  expect(await turned.evaluate((element) => getComputedStyle(element).unicodeBidi)).toBe("isolate");
});

test("an id with slashes has a page of its own and can be released", async ({ page, server }) => {
  await page.goto(studio(server, "/limits/voice"));
  await row(page, HTML).locator("a[data-open]").click();
  await expect(page.locator("h1")).toContainText("a/../b:1");
  await page.reload();
  await expect(page.locator(".answer")).toContainText("It holds voice");
  await page.getByRole("button", { name: "Release" }).click();
  await page.getByRole("button", { name: "Release slot", exact: true }).click();
  await expect(page.getByText("How it ended")).toBeVisible();
});
