import { useEffect, useState } from "preact/hooks";

/** A value that components can watch. */
export class Store<T> {
  private watchers = new Set<() => void>();

  constructor(private value: T) {}

  get(): T {
    return this.value;
  }

  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const watcher of [...this.watchers]) watcher();
  }

  change(part: Partial<T>): void {
    this.set({ ...this.value, ...part });
  }

  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [, redraw] = useState(0);
  useEffect(() => store.watch(() => redraw((count) => count + 1)), [store]);
  return store.get();
}
