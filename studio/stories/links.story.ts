// Every view has an address, and the address has the whole view.
import { expect, row, studio, test } from "./stage";

test.beforeEach(async ({ server }) => {
  for (const limit of ["gpu.batch", "gpu.web", "voice"]) await server.declare(limit, 1, "10m");
  await server.acquire("voice", "v1", { run: "r1", label: "call 1" });
  await server.acquire("voice", "v2", { run: "r2", label: "call 2", timeout: "1h" });
  await server.call("PUT", "/v1/limits/far", { capacity: 1, max_hold: "1m" }, { "Maitred-Agent": "box-7" });
});

test("filters, sort and range are in it; reload, back and forward keep them", async ({ page, server }) => {
  await page.goto(studio(server));
  await page.getByLabel("Filter by name").fill("gpu");
  await expect(row(page, "voice")).toHaveCount(0);
  await page.getByRole("button", { name: "Name", exact: true }).click();
  await expect(page.getByRole("columnheader", { name: "Name" })).toHaveAttribute("aria-sort", "ascending");
  await page.getByRole("button", { name: "Name", exact: true }).click();
  await expect(page.getByRole("columnheader", { name: "Name" })).toHaveAttribute("aria-sort", "descending");
  await expect(page.locator("tr[data-row]").first()).toContainText("gpu.web");
  await page.reload();
  await expect(page.locator("tr[data-row]").first()).toContainText("gpu.web");
  await expect(page.getByLabel("Filter by name")).toHaveValue("gpu");
  await page.goBack();
  await expect(page.getByRole("columnheader", { name: "Name" })).toHaveAttribute("aria-sort", "ascending");
  await page.goForward();
  await expect(page.locator("tr[data-row]").first()).toContainText("gpu.web");
  await page.goto(studio(server, "/limits?text=nobody"));
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await expect(row(page, "voice")).toBeVisible();
});

test("the box at the top leads to a limit, or explains", async ({ page, server }) => {
  await page.goto(studio(server));
  await expect(row(page, "voice")).toBeVisible();
  const find = async (text: string) => {
    await page.keyboard.press("/");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
  };
  await find("voice");
  await expect(page.getByRole("heading", { level: 1, name: "voice" })).toBeVisible();
  await find("call 2");
  await expect(page.locator(".answer")).toContainText("It is first in line for voice and needs 1: 1 of 1 are taken");
  await expect(page.getByText("Esperando").or(page.getByText("call 1"))).toBeVisible();
  await find("r1");
  await expect(page.locator(".answer")).toContainText("It holds voice");
  await find("gpu");
  await expect(page.getByRole("link", { name: "gpu.batch" })).toBeVisible();
  await find("nothing like it");
  await expect(page.locator(".answer")).toContainText("Nothing that holds or waits is known");
});

test("keys go to the sections, and can be switched off", async ({ page, server }) => {
  await page.goto(studio(server));
  await expect(row(page, "voice")).toBeVisible();
  for (const [key, title] of [["r", "Runs"], ["t", "Rates"], ["a", "Audit"], ["h", "Health"], ["l", "Limits"]] as const) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await expect(page.getByRole("heading", { level: 1, name: title })).toBeVisible();
    await expect(page.getByRole("link", { name: title, exact: true })).toHaveAttribute("aria-current", "page");
  }
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys and words" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByLabel("Settings").click();
  await page.getByLabel("Single-letter keys").uncheck();
  await page.keyboard.press("Tab");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("another agent is another installation, in every link", async ({ page, server }) => {
  await page.goto(studio(server));
  await page.getByLabel("Agent").selectOption("box-7");
  await expect(row(page, "far")).toBeVisible();
  await expect(row(page, "voice")).toHaveCount(0);
  await page.getByRole("link", { name: "far" }).click();
  expect(page.url()).toContain("agent=box-7");
  await page.reload();
  await expect(page.getByRole("heading", { level: 1, name: "far" })).toBeVisible();
});

test("a limit that is not there says what to do", async ({ page, server, }) => {
  await page.goto(studio(server, "/nowhere"));
  await expect(page.getByText("There is no such page")).toBeVisible();
});

test("times are local, exact when pointed at, and UTC when chosen", async ({ page, server }) => {
  await page.goto(studio(server, "/limits/voice"));
  const since = row(page, "call 1").locator(".since time");
  const at = new Date((await since.getAttribute("datetime"))!);
  const inZone = (timeZone: string) => at.toLocaleTimeString("en-GB", { timeZone });
  await expect(since).toHaveText(inZone("Europe/Madrid"));
  await expect(since).toHaveAttribute("title", new RegExp(`${inZone("Europe/Madrid")}\\.\\d{3}`));
  await page.getByLabel("Settings").click();
  await page.getByLabel("Times in UTC").check();
  await expect(since).toHaveText(inZone("UTC"));
  await page.reload();
  await expect(since).toHaveText(inZone("UTC"));
});
