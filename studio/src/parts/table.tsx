import type { ComponentChildren, JSX } from "preact";
import { ask, go } from "../core/router";

interface SortProps {
  /** What the query calls it. */
  by: string;
  sort: string;
  isReverse: boolean;
  /** Numbers come largest first. */
  isText?: boolean;
  children: ComponentChildren;
}

/** A heading that sorts; once more turns it round. */
export function Sort({ by, sort, isReverse, isText, children }: SortProps) {
  const isIt = sort === by;
  const isRising = isIt && (isText ? !isReverse : isReverse);
  const direction = isIt ? (isRising ? "ascending" : "descending") : undefined;
  const turn = () => ask({ sort: by, reverse: isIt && !isReverse ? "true" : undefined, skip: undefined });
  return (
    <th scope="col" class={isText ? "" : "num"} aria-sort={direction}>
      <button type="button" class="sort" onClick={turn}>
        {children}
        <span aria-hidden="true">{isIt ? (isRising ? " ↑" : " ↓") : ""}</span>
      </button>
    </th>
  );
}

type RowProps = JSX.IntrinsicElements["tr"] & { to?: string; isGone?: boolean; children: ComponentChildren };

/** A row that can be walked to by keyboard, and opened from there. */
export function Row({ to, isGone, children, ...rest }: RowProps) {
  const open = (event: KeyboardEvent) => {
    if (to && event.key === "Enter" && event.target === event.currentTarget) go(to);
  };
  return (
    <tr {...rest} class={isGone ? "gone" : ""} data-row tabIndex={0} onKeyDown={open}>
      {children}
    </tr>
  );
}

/** A cell that says its heading itself where the table becomes a stack of rows. */
export function Cell({ name, num, children, ...rest }: { name: string; num?: boolean; children: ComponentChildren; class?: string }) {
  return (
    <td data-name={name} {...rest} class={[num ? "num" : "", rest.class ?? ""].join(" ").trim()}>
      {children}
    </td>
  );
}

export function Pages({ skip, most, of, noun }: { skip: number; most: number; of: number; noun: string }) {
  if (of <= most && skip === 0) return null;
  const to = (next: number) => ask({ skip: next > 0 ? String(next) : undefined });
  return (
    <nav class="pages" aria-label="Pages">
      <button type="button" disabled={skip === 0} onClick={() => to(Math.max(0, skip - most))}>
        ← Before
      </button>
      <span>
        {Math.min(skip + 1, of)}–{Math.min(skip + most, of)} of {of} {noun}
      </span>
      <button type="button" disabled={skip + most >= of} onClick={() => to(skip + most)}>
        Next →
      </button>
    </nav>
  );
}
