import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** Wide enough for two columns. */
  wide?: boolean;
}

/** A modal dialog: Escape and a click beside it close it, and the focus goes back to where it was. */
export function Dialog({ title, onClose, children, wide }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement;
    dialog.showModal();
    dialog.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const beside = (event: MouseEvent) => {
    if (event.target === ref.current) onClose();
  };
  return (
    <dialog ref={ref} class={wide ? "wide" : ""} aria-labelledby="dialog-title" onClose={onClose} onMouseDown={beside}>
      <div class="dialog">
        <h2 id="dialog-title">{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** What a page's dialog is open for, if it is: what was asked, how to ask, and how the dialog ends. Done, the page is looked at anew. */
export function useDialog<T>(refresh: () => Promise<void>) {
  const [asked, ask] = useState<T>();
  const onClose = () => ask(undefined);
  const onDone = () => {
    onClose();
    void refresh().catch(() => {});
  };
  return { asked, ask, ends: { onClose, onDone } };
}

/** A note for the record, why something is done. Enter in it does nothing. */
export function Why({ value, onInput }: { value: string; onInput: (text: string) => void }) {
  return (
    <label class="field">
      <span>Reason, for the record (may stay empty)</span>
      <input type="text" value={value} maxLength={200} onInput={(event) => onInput(event.currentTarget.value)} />
    </label>
  );
}
