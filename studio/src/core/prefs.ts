import { Store } from "./store";

export type Theme = "system" | "light" | "dark";
/** How often data is asked for anew: as it changes, every so many seconds, or by hand only. */
export type Rate = "live" | "5" | "15" | "off";

export interface Prefs {
  theme: Theme;
  rate: Rate;
  /** Single letters act. */
  keys: boolean;
  utc: boolean;
  /** Columns of the list of limits that are not shown. */
  hidden: string[];
}

const NAME = "maitred.studio";
const DEFAULTS: Prefs = { theme: "system", rate: "live", keys: true, utc: false, hidden: [] };

function kept(): Prefs {
  try {
    return { ...DEFAULTS, ...JSON.parse(localStorage.getItem(NAME) ?? "{}") };
  } catch {
    return DEFAULTS;
  }
}

/** What this browser's user chose. */
export const prefs = new Store<Prefs>(kept());

prefs.watch(() => {
  const { theme } = prefs.get();
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    localStorage.setItem(NAME, JSON.stringify(prefs.get()));
  } catch {
    // A browser that keeps nothing asks again next time.
  }
});
