// The story that Studio is for: somebody who has never seen it finds the slot that nobody gives back, sees whose it is,
// frees it, and sees the next run move.
import { cli, doctor, typed } from "./server";
import { expect, row, studio, test } from "./stage";

const MINUTE = 60_000;

test.use({ options: { manualClock: true } });

test.beforeEach(async ({ server }) => {
  await server.moveClock(Date.now() - 30 * MINUTE);
  await server.declare("email", 50, "2m");
  await server.declare("partner-api", 2);
  await server.declare("voice-calls", 20);
  await server.acquire("partner-api", "s-2040", { run: "run-a", label: "invoice 2040", workflow: "billing" });
  await server.acquire("partner-api", "s-2041", { run: "run-b", label: "invoice 2041", workflow: "billing" });
  await server.call("POST", "/v1/slots", { slot: "s-2042", limit: "partner-api", run: "run-c", label: "invoice 2042" });
  await server.endRun("run-b");
  await server.moveClock(25 * MINUTE);
  await server.settled();
});

test("by mouse, in at most six clicks", async ({ page, server }) => {
  let clicks = 0;
  const click = async (what: ReturnType<typeof page.locator>) => {
    clicks += 1;
    await what.click();
  };
  await page.goto(studio(server, ""));
  const first = page.locator("tbody tr[data-row]").first();
  await expect(first).toContainText("partner-api");
  await expect(first).toContainText("Leaking");
  await expect(page.getByText("1 place is held by a run that ended, up to 25m ago, while 1 wait.")).toBeVisible();
  await click(page.getByRole("link", { name: "partner-api" }));
  const leaked = row(page, "run ended 25m ago, still holding");
  await expect(leaked).toContainText("invoice 2041");
  await expect(leaked).toContainText("run-b");
  await click(leaked.getByRole("button", { name: "Release" }));
  const dialog = page.getByRole("dialog", { name: "Release this slot?" });
  await expect(dialog).toContainText("invoice 2042 (first of 1) gets the place.");
  await expect(dialog).toContainText("The work itself is not stopped.");
  await expect(dialog.getByRole("button", { name: "Keep" })).toBeFocused();
  await click(dialog.getByRole("button", { name: "Release slot" }));
  await expect(page.getByRole("status").filter({ hasText: "Released. Went to invoice 2042." })).toBeVisible();
  await page.mouse.move(0, 0);
  await expect(row(page, "invoice 2042").filter({ hasText: "reserved" })).toBeVisible();
  await expect(page.getByText("Nobody waits")).toBeVisible();
  await expect(page.locator("h1 ~ .health")).toHaveText("OK");
  expect(clicks).toBeLessThanOrEqual(6);
  expect(await server.call("GET", "/v1/slots/s-2042")).toMatchObject({ state: "reserved" });
});

test("by keyboard alone", async ({ page, server }) => {
  await page.goto(studio(server));
  await expect(row(page, "partner-api")).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "partner-api" })).toBeVisible();
  await expect(row(page, "still holding")).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowDown");
  await expect(row(page, "invoice 2041")).toBeFocused();
  await page.keyboard.press("r");
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("button", { name: "Keep" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(row(page, "invoice 2041")).toBeFocused();
  await page.keyboard.press("r");
  await expect(dialog.getByRole("button", { name: "Keep" })).toBeFocused();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  await expect(dialog.getByLabel("Reason")).toBeFocused();
  await page.keyboard.type("its webhook was lost");
  await page.keyboard.press("Enter");
  await expect(dialog).toBeVisible();
  for (let tab = 0; tab < 3; tab++) await page.keyboard.press("Tab");
  await expect(dialog.getByRole("button", { name: "Release slot" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByText("Released. Went to invoice 2042.")).toBeVisible();
  await server.settled();
  const { ends } = await server.call<{ ends: object[] }>("GET", "/v1/history?slot=s-2041");
  expect(ends[0]).toMatchObject({ by: "studio", reason: "its webhook was lost", state: "released" });
});

test("every number agrees with the command line", async ({ page, server }) => {
  await page.goto(studio(server, "/limits?sort=name"));
  const { limits } = cli<{ limits: { limit: string; busy: number; reserved: number; capacity: number; waiting: number }[] }>(server, "limits", "list");
  expect(limits).toHaveLength(3);
  for (const limit of limits) {
    const cells = row(page, limit.limit);
    await expect(cells.locator(".use")).toContainText(`${limit.busy} / ${limit.capacity}`);
    await expect(cells.locator("td[data-name=Waiting]")).toHaveText(limit.waiting > 0 ? String(limit.waiting) : "–");
  }
  await page.getByRole("link", { name: "partner-api" }).click();
  const one = cli<Record<string, number>>(server, "limits", "show", "partner-api");
  for (const [name, value] of [["Busy", one["busy"]], ["Reserved", one["reserved"]], ["Available", one["available"]], ["Waiting", one["waiting"]], ["Capacity", one["capacity"]], ["Max hold", "45m"]]) {
    await expect(page.locator(".numbers div", { has: page.locator("dt", { hasText: new RegExp(`^${name}$`) }) }).locator("b")).toHaveText(String(value));
  }
  expect((await server.call("GET", "/v1/limits/partner-api"))["revision"]).toBe(one["revision"]);
  const slots = cli<{ holders: { slot: string }[]; queue: { slot: string }[] }>(server, "limits", "slots", "partner-api");
  await expect(page.getByText(`${slots.holders.length} busy, 0 reserved`)).toBeVisible();
  const shown = await page.locator("tr[data-row] a[data-open]").evaluateAll((links) => links.map((link) => link.getAttribute("title")));
  expect(shown).toEqual([...slots.holders, ...slots.queue].map(({ slot }) => slot));
  const { findings } = doctor(server);
  const found = findings.find(({ check }) => check === "limit partner-api")?.found;
  expect(found).toContain(await page.locator(".verdict b").textContent());
});

test("a second release says that there was nothing to do", async ({ page, server }) => {
  await page.goto(studio(server, "/limits/partner-api"));
  await row(page, "invoice 2040").getByRole("button", { name: "Release" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
  await server.call("POST", "/v1/slots/s-2040/release");
  await page.getByRole("button", { name: "Release slot", exact: true }).click();
  await expect(page.getByText("Nothing to do: it was released already.")).toBeVisible();
});

test("the command line it offers runs as it stands", async ({ page, server }) => {
  await page.goto(studio(server, "/limits/partner-api"));
  await row(page, "invoice 2041").getByRole("button", { name: "Release" }).click();
  await page.getByLabel("Reason").fill("lost & found");
  await page.getByRole("dialog").getByRole("button", { name: "Copy as CLI" }).click();
  const line = await page.evaluate(() => navigator.clipboard.readText());
  expect(line).toContain("limits release s-2041 --yes --reason 'lost & found'");
  expect(typed(line)).toContain("released");
});
