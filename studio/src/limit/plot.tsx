import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { clock, moment } from "../core/format";
import { prefs } from "../core/prefs";
import { useStore } from "../core/store";

export interface Line {
  title: string;
  values: (number | null)[];
  /** A custom property of the style sheet. */
  color: string;
  kind?: "line" | "step" | "bars";
  isDashed?: boolean;
  isFilled?: boolean;
  /** Drawn as a band on top of this one of the lines. */
  above?: number;
}

/** Something that somebody did, at a time. */
export interface Event {
  at: number;
  text: string;
  /** A custom property of the style sheet. */
  color: string;
}

interface Props {
  title: string;
  at: number[];
  lines: Line[];
  events: Event[];
  /** How a value is written. */
  shown: (value: number) => string;
}

const HEIGHT = 124;
const cursors = uPlot.sync("limit");

/** One chart. Its axis of time and its cursor are those of its neighbours; the same numbers stand in a table below. */
export function Plot({ title, at, lines, events, shown }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const { theme, utc } = useStore(prefs);
  const latest = useRef({ lines, events, shown });
  latest.current = { lines, events, shown };
  const data = [at.map((ms) => ms / 1_000), ...lines.map((line) => heights(line, lines))] as uPlot.AlignedData;
  useEffect(() => {
    const element = box.current!; // what watches it may be told once more after it has gone
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(element, latest, utc), data, element);
    };
    make();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [theme, utc, lines.length]);
  useEffect(() => plot.current?.setData(data), [at, lines, events]);
  return (
    <figure class="plot">
      <figcaption>
        {title}
        <span class="legend">
          {lines.map((line) => (
            <span key={line.title}>
              <i class={line.above !== undefined ? "band" : line.isDashed ? "dashed" : ""} style={{ borderColor: `var(${line.color})` }} aria-hidden="true" />
              {line.title}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={box} class="canvas" role="img" aria-label={`${title}: ${summary(lines, shown)}`} />
    </figure>
  );
}

/** What the picture says at its right end. */
function summary(lines: Line[], shown: (value: number) => string): string {
  return lines
    .map(({ title, values }) => {
      const last = values.findLast((value) => value !== null);
      return `${title} ${typeof last === "number" ? shown(last) : "unknown"}`;
    })
    .join(", ");
}

/** Where the line is drawn; what it says are its values. */
function heights({ values, above }: Line, lines: Line[]): (number | null)[] {
  if (above === undefined) return values;
  return values.map((value, at) => {
    const below = lines[above]!.values[at];
    return value === null || typeof below !== "number" ? null : below + value;
  });
}

/** As it was drawn last. */
type Latest = { current: Pick<Props, "lines" | "events" | "shown"> };

function options(box: HTMLElement, latest: Latest, utc: boolean): uPlot.Options {
  const style = getComputedStyle(box);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: color("--ink-3"), font: `11px ${style.fontFamily}`, ticks: { show: false } };
  const grid = { stroke: color("--line"), width: 1 };
  return {
    width: box.clientWidth,
    height: HEIGHT,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: cursors.key, setSeries: false }, drag: { x: false, y: false }, points: { size: 6 } },
    ...(utc && { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC") }),
    scales: { y: { range: (_, low, high) => [Math.min(0, low), Math.max(1, high * 1.08)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 24, values: (_, all) => all.map((seconds) => clock(seconds * 1_000).slice(0, 5)), space: 64 },
      { ...axis, grid, size: 46, space: 28, values: (_, all) => all.map((value) => (value === null ? "" : latest.current.shown(value))) },
    ],
    series: [{}, ...latest.current.lines.map((line) => series(line, color))],
    bands: latest.current.lines.flatMap((line, at) => (line.above === undefined ? [] : [band(line, at, color)])),
    hooks: { draw: [(plot) => drawEvents(plot, latest.current.events, color)], setCursor: [(plot) => tell(plot, box, latest)] },
  };
}

function band(line: Line, at: number, color: (name: string) => string): uPlot.Band {
  return { series: [at + 1, line.above! + 1], fill: `color-mix(in srgb, ${color(line.color)} 38%, transparent)` };
}

function series(line: Line, color: (name: string) => string): uPlot.Series {
  const stroke = color(line.color);
  const base: uPlot.Series = { stroke, width: 1.5, points: { show: false }, spanGaps: false };
  if (line.above !== undefined) base.width = 0;
  if (line.isDashed) base.dash = [4, 4];
  if (line.isFilled) base.fill = `color-mix(in srgb, ${stroke} 16%, transparent)`;
  if (line.kind === "step") base.paths = uPlot.paths.stepped!({ align: 1 });
  if (line.kind === "bars") {
    base.paths = uPlot.paths.bars!({ size: [0.8, 8] });
    base.fill = stroke;
    base.width = 0;
  }
  return base;
}

/** A thin line where somebody did something. */
function drawEvents(plot: uPlot, events: Event[], color: (name: string) => string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.setLineDash([2, 3]);
  for (const { at, color: name } of events) {
    ctx.strokeStyle = color(name);
    const x = Math.round(plot.valToPos(at / 1_000, "x", true)) + 0.5;
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** What the cursor is at, in words beside the title of the chart. */
function tell(plot: uPlot, box: HTMLElement, latest: Latest): void {
  const { lines, events, shown } = latest.current;
  const at = plot.cursor.idx;
  const seconds = typeof at === "number" ? plot.data[0][at] : undefined;
  if (seconds === undefined) {
    box.title = "";
    return;
  }
  const told = lines.map(({ title, values }) => {
    const value = values[at!];
    return `${title} ${typeof value === "number" ? shown(value) : "–"}`;
  });
  const next = plot.data[0][at! + 1] ?? Infinity;
  const done = events.filter((event) => event.at >= seconds * 1_000 && event.at < next * 1_000);
  box.title = [moment(seconds * 1_000), ...told, ...done.map(({ text }) => text)].join("\n");
}
