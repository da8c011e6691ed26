import type { Health } from "../api/types";

/** A small picture beside a word that says the same. */
export function Icon({ name }: { name: keyof typeof SHAPES }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {SHAPES[name]}
    </svg>
  );
}

const stroke = { fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-linecap": "round" } as const;

const SHAPES = {
  leaking: <path d="M8 1.8c2.6 3.7 4.2 5.7 4.2 8a4.2 4.2 0 0 1-8.4 0c0-2.3 1.6-4.3 4.2-8z" fill="currentColor" />,
  stuck: <path d="M5.2 1.500h5.600l3.7 3.700v5.600l-3.7 3.700H5.200l-3.7-3.700V5.200zM4.5 7.100v1.800h7V7.100z" fill="currentColor" fill-rule="evenodd" />,
  stalled: <path d="M3 3.500v9M13 4l-6 4 6 4z" {...stroke} stroke-linejoin="round" />,
  saturated: <path d="M2.5 13V6M6.2 13V3M9.8 13V3M13.5 13V3" {...stroke} stroke-width={2.2} />,
  unknown: <path d="M5.5 6a2.5 2.5 0 1 1 3.6 2.200c-.7.4-1.1.8-1.1 1.600M8 12.700v.1" {...stroke} />,
  ok: <path d="M3 8.500l3.3 3.300L13 4.8" {...stroke} stroke-linejoin="round" />,
  paused: <path d="M5.5 3v10M10.5 3v10" {...stroke} stroke-width={2.4} />,
  retired: <path d="M3 5h10v8H3zM2 2.800h12V5H2zM6.3 8h3.4" {...stroke} />,
  override: <path d="M10.5 2.500l3 3-7.5 7.500H3v-3z" {...stroke} stroke-linejoin="round" />,
  orphan: <path d="M8 2.200l6.3 11.300H1.700zM8 6.500v3.200M8 11.500v.1" {...stroke} stroke-linejoin="round" />,
  copy: <path d="M5.5 5.500h8v8h-8zM10.5 5.500v-3h-8v8h3" {...stroke} stroke-linejoin="round" />,
  search: <path d="M7 2.500a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.5 10.500l3.5 3.5" {...stroke} />,
  check: <path d="M3 8.500l3.3 3.300L13 4.8" {...stroke} stroke-linejoin="round" />,
} as const;

const WORDS: Record<Health, string> = {
  leaking: "Leaking",
  stuck: "Stuck",
  stalled: "Stalled",
  saturated: "Saturated",
  unknown: "Unknown",
  ok: "OK",
};

export const healthWord = (health: Health): string => WORDS[health];

export function HealthMark({ health }: { health: Health }) {
  return (
    <span class={`health ${health}`}>
      <Icon name={health} />
      {WORDS[health]}
    </span>
  );
}

export function Mark({ kind, children }: { kind: "paused" | "retired" | "override" | "orphan"; children: string }) {
  return (
    <span class={`mark ${kind}`}>
      <Icon name={kind} />
      {children}
    </span>
  );
}
