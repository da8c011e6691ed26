// What a page shows is loaded, then loaded again whenever the server says that something happened; how well that goes
// stands in `line`, for the mark at the top. Events are taken as hints only: what is shown always comes from one answer
// at one revision. A tab that nobody sees asks for nothing.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Trouble, token } from "../api/client";
import { listen } from "../api/stream";
import { prefs, type Rate } from "./prefs";
import { agent } from "./router";
import { Store, useStore } from "./store";

export type LineState = "connecting" | "live" | "every" | "off" | "hidden" | "reconnecting" | "signed out";

export interface Line {
  state: LineState;
  everyS: number;
  /** The server's time of what is shown. */
  asOf?: number;
}

export const line = new Store<Line>({ state: "connecting", everyS: 0 });

/** The server's clock less ours. */
let ahead = 0;
export const serverNow = (): number => Date.now() + ahead;

const tick = new Store(0);
setInterval(() => document.hidden || tick.set(tick.get() + 1), 1_000);

/** The server's time, again every second. */
export function useNow(): number {
  useStore(tick);
  return serverNow();
}

export interface Dated {
  as_of: number;
  revision: number;
}

export interface Live<T> {
  data?: T;
  /** Why the last try brought nothing; what was there before stays. */
  trouble?: Trouble;
  refresh: () => Promise<void>;
}

interface Options {
  /** Only what happens in this limit matters. */
  limit?: string;
  /** The shortest time between two loads. */
  gapMs?: number;
}

/** Whatever happens, so often it is looked anew: health and charts change with time alone. */
const ANEW_MS = 10_000;
const FALLBACK_MS = 5_000;
const STREAM_FAILURES = 3;

export function useLive<T extends Dated>(key: string, load: () => Promise<T>, options: Options = {}): Live<T> {
  const [seen, setSeen] = useState<{ key: string; data?: T; trouble?: Trouble }>({ key });
  const { rate } = useStore(prefs);
  const carried = useStore(token);
  const latest = useRef(load);
  latest.current = load;
  const refresh = useRef<() => Promise<void>>(async () => {});
  const whole = `${agent()} ${key}`;
  useEffect(() => {
    const feed = new Feed<T>(
      () => latest.current(),
      (data) => setSeen({ key: whole, data }),
      (trouble) => setSeen((before) => (before.key === whole ? { ...before, trouble } : { key: whole, trouble })),
      rate,
      options,
    );
    refresh.current = () => feed.refresh();
    void feed.run();
    return () => feed.stop();
  }, [whole, rate, carried]);
  const again = useCallback(() => refresh.current(), []);
  return seen.key === whole ? { ...seen, refresh: again } : { refresh: again };
}

class Feed<T extends Dated> {
  private stopped = new AbortController();
  /** Ends the wait that is going on. */
  private wake: () => void = () => {};
  private revision = 0;
  private loadedAt = 0;
  private streamFailures = 0;

  constructor(
    private load: () => Promise<T>,
    private show: (data: T) => void,
    private fail: (trouble: Trouble) => void,
    private rate: Rate,
    private options: Options,
  ) {}

  stop(): void {
    this.stopped.abort();
    this.wake();
    removeEventListener("visibilitychange", this.onVisibility, true);
  }

  private onVisibility = () => this.wake();

  async run(): Promise<void> {
    addEventListener("visibilitychange", this.onVisibility, true);
    for (let failures = 0; !this.isStopped; ) {
      if (document.hidden && this.loadedAt > 0) {
        this.mark("hidden");
        await this.wait();
        continue;
      }
      try {
        await this.refresh();
        failures = 0;
        await this.follow();
      } catch (error) {
        if (this.isStopped) return;
        const trouble = error instanceof Trouble ? error : new Trouble(0, String(error));
        await this.endure(trouble, ++failures);
      }
    }
  }

  private get isStopped(): boolean {
    return this.stopped.signal.aborted;
  }

  async refresh(): Promise<void> {
    const data = await this.load();
    if (this.isStopped) return;
    ahead = data.as_of - Date.now();
    this.loadedAt = Date.now();
    this.revision = data.revision;
    this.show(data);
    line.change({ asOf: data.as_of });
  }

  private async follow(): Promise<void> {
    if (this.rate === "off") {
      this.mark("off");
      return this.wait();
    }
    if (this.rate !== "live") {
      this.mark("every", Number(this.rate));
      return this.wait(Number(this.rate) * 1_000);
    }
    if (this.streamFailures >= STREAM_FAILURES) {
      this.mark("every", FALLBACK_MS / 1_000);
      return this.wait(FALLBACK_MS);
    }
    await this.followStream();
  }

  /** Until the stream ends, a load fails, the tab is hidden, or the page is left. */
  private async followStream(): Promise<void> {
    const ended = new AbortController();
    const query = { after: this.revision, limit: this.options.limit };
    const pulse = new Pulse(() => this.refresh(), this.options.gapMs ?? 250);
    const stream = listen(
      query,
      ({ event }) => {
        this.streamFailures = 0;
        if (event === "events" || event === "reset") pulse.beat();
        this.mark("live");
      },
      ended.signal,
    );
    const anew = setInterval(() => pulse.beat(), ANEW_MS);
    try {
      await Promise.race([stream, pulse.broken, this.wait()]);
    } catch (error) {
      if (!(error instanceof Trouble && error.reason === "stream")) throw error;
      this.streamFailures += 1;
    } finally {
      clearInterval(anew);
      pulse.stop();
      ended.abort();
      stream.catch(() => {});
    }
  }

  private async endure(trouble: Trouble, failures: number): Promise<void> {
    this.fail(trouble);
    if (trouble.status === 401) {
      this.mark("signed out");
      return this.wait(); // a token starts it anew
    }
    if (trouble.status >= 400 && trouble.status < 500) {
      this.mark("live");
      return this.wait(FALLBACK_MS);
    }
    this.mark("reconnecting");
    return this.wait(Math.min(5_000, 250 * 2 ** failures));
  }

  private mark(state: LineState, everyS = 0): void {
    if (!this.isStopped) line.change({ state, everyS });
  }

  /** Until the time is over, the tab is hidden or seen again, or the page is left. */
  private wait(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
      if (ms !== undefined) setTimeout(resolve, ms);
    });
  }
}

/** Does something at most once per gap, however often it is asked to. */
class Pulse {
  /** Throws when the thing failed. */
  readonly broken: Promise<never>;
  private break: (error: unknown) => void = () => {};
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isAtWork = false;
  private again = false;

  constructor(
    private act: () => Promise<void>,
    private gapMs: number,
  ) {
    this.broken = new Promise((_, reject) => (this.break = reject));
    this.broken.catch(() => {});
  }

  beat(): void {
    if (this.isAtWork) this.again = true;
    else this.timer ??= setTimeout(() => void this.work(), this.gapMs);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.again = false;
  }

  private async work(): Promise<void> {
    this.timer = undefined;
    this.isAtWork = true;
    try {
      await this.act();
    } catch (error) {
      this.break(error);
    }
    this.isAtWork = false;
    if (this.again) {
      this.again = false;
      this.beat();
    }
  }
}
