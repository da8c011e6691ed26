import { Store, useStore } from "../core/store";

interface Note {
  text: string;
  kind: "done" | "nothing" | "failed";
}

const note = new Store<Note | undefined>(undefined);
let timer: ReturnType<typeof setTimeout>;
const SHOWN_MS = 8_000;

/** Tells what became of an act: seen at the bottom, and read out. */
export function say(text: string, kind: Note["kind"] = "done"): void {
  note.set({ text, kind });
  clearTimeout(timer);
  timer = setTimeout(() => note.set(undefined), SHOWN_MS);
}

export function Said() {
  const said = useStore(note);
  return (
    <div class="said" role="status" aria-live="polite">
      {said ? <p class={said.kind}>{said.text}</p> : null}
    </div>
  );
}
