// Nothing, one, and ten thousand limits with a hundred thousand slots waiting.
import { expect, isSound, row, studio, test } from "./stage";

const LIMITS = 10_000;
const WAITING = 100_000;
const BATCH = 1_000;

test.use({ expected: [/404/] });

test("without limits it says how to get one", async ({ page, server }) => {
  await page.goto(studio(server, ""));
  await expect(page.getByText("There are no limits yet")).toBeVisible();
  await expect(page.getByText("maitred apply --file maitred.toml")).toBeVisible();
  await isSound(page, "no limits");
  for (const [path, text] of [["/runs", "No run holds or waits"], ["/rates", "Nothing is counted"], ["/audit", "Nothing was changed yet"], ["/limits/voice", "There is no limit voice"]]) {
    await page.goto(studio(server, path));
    await expect(page.locator(".empty-title", { hasText: text! })).toBeVisible();
    await isSound(page, path!);
  }
});

test("one limit with nobody in it", async ({ page, server }) => {
  await server.declare("voice", 1, "10m");
  await page.goto(studio(server));
  await expect(row(page, "voice")).toContainText("0 / 1");
  await page.getByRole("link", { name: "voice" }).click();
  await expect(page.getByText("Nobody holds a slot")).toBeVisible();
  await expect(page.getByText("Nobody waits")).toBeVisible();
  await expect(page.getByText("Nothing has ended yet")).toBeVisible();
});

test("ten thousand limits are searched, sorted and paged by the server", async ({ page, server }) => {
  test.setTimeout(240_000);
  const name = (at: number) => `team-${at % 100}.limit-${String(at).padStart(5, "0")}`;
  const limits = Array.from({ length: LIMITS }, (_, at) => ({ name: name(at), capacity: 1 + (at % 50), max_hold: "10m" }));
  await server.call("PUT", "/v1/limits", { limits });
  for (let from = 0; from < WAITING; from += BATCH) {
    const items = Array.from({ length: BATCH }, (_, at) => ({ op: "acquire", slot: `w-${from + at}`, limit: name((from + at) % 200), run: `run-${(from + at) % 5_000}`, timeout: "2h" }));
    await server.call("POST", "/v1/batch", { items });
  }
  await server.settled();
  await page.goto(studio(server, "/limits?sort=name"));
  await expect(page.getByText("1–100 of 10000 limits")).toBeVisible();
  await expect(page.locator("tr[data-row]")).toHaveCount(100);
  for (const sort of ["attention", "health", "name", "used", "capacity", "waiting", "oldest_wait", "oldest_hold", "wait_p50", "wait_p99", "expired", "max_hold"]) {
    const times = [];
    for (let again = 0; again < 3; again++) {
      const begun = performance.now();
      const answer = await server.call<{ limits: unknown[]; matching: number }>("GET", `/v1/overview?sort=${sort}&most=100`);
      times.push(performance.now() - begun);
      expect([answer.limits.length, answer.matching]).toEqual([100, LIMITS]);
    }
    console.log(`a page of 10,000 limits by ${sort}: ${Math.round(Math.min(...times))} ms`);
  }
  await page.getByRole("button", { name: "Next →" }).click();
  await expect(page.getByText("101–200 of 10000 limits")).toBeVisible();
  await page.getByRole("button", { name: "Waiting" }).click();
  await expect(page.locator("tr[data-row]").first().locator("td[data-name=Waiting]")).not.toHaveText("–");
  await page.getByLabel("Filter by name").fill("limit-00042");
  await expect(page.locator("tr[data-row]")).toHaveCount(1);
  await page.getByRole("link", { name: name(42) }).click();
  await expect(page.getByText("0 busy, 43 reserved")).toBeVisible();
  await expect(page.locator("tr[data-row]")).toHaveCount(500);
});
