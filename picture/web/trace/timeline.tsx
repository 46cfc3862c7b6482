// The time line: lines from top to bottom, of which only those in view exist, and lanes beside them.
import { type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { shown } from "../shared/fields";
import { type Model, spanOf, timeOf } from "../shared/model";
import { type Columns, NARROW } from "./columns";
import { foldedIn, hasLine, type Items, lineOf, Stretches } from "./items";
import { Mark, WORDS } from "./marks";

export const LINE = 24;
const TIME = 148;
const ARCS = 46;
const AROUND = 8;
const MOST_ARCS = 200;
const MOST_OF_HEAD = 0.55;

interface Given {
  model: Model;
  items: Items;
  columns: Columns;
  chosen: number; // a row; -1 for none
  begin: number; // the row that is in view first; -1 for the first one
  found: ReadonlySet<number> | null;
  named: ReadonlySet<number>; // rows that the sentences of the head name
  showsArcs: boolean;
  onChoose(row: number): void;
  onUnfold(row: number): void;
}

export function TimeLine(given: Given) {
  const { model, items, columns, chosen, begin, onChoose } = given;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [isCut, setCut] = useState(false); // on the right
  const mouse = useRef({ x: -1, y: -1 });
  const [hover, setHover] = useState<{ row: number; x: number; y: number } | null>(null);
  // With fewer lines than before, the browser scrolls back only after they are drawn.
  const top = Math.max(0, Math.min(view.top, items.count * LINE - view.height));
  const first = Math.max(0, Math.floor(top / LINE) - AROUND);
  const last = Math.min(items.count - 1, Math.ceil((top + view.height) / LINE) + AROUND);

  useLayoutEffect(() => {
    const element = scroller.current!;
    // What moves below a mouse that rests has no tip until the mouse moves.
    const measure = () => {
      setView({ top: element.scrollTop, height: element.clientHeight });
      setCut(element.scrollLeft + element.clientWidth < element.scrollWidth - 1);
      setHover(null);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    if (begin >= 0 && chosen < 0) show(element, lineOf(items, begin));
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  useEffect(() => {
    setHover(null);
    if (chosen >= 0) bring(scroller.current!, lineOf(items, chosen));
  }, [chosen, items]);

  useLayoutEffect(() => {
    const element = scroller.current!;
    setCut(element.scrollLeft + element.clientWidth < element.scrollWidth - 1);
  }, [columns]);

  const left = TIME + columns.width + ARCS;
  const lines: ComponentChildren[] = [];
  for (let line = first; line <= last; line++) {
    lines.push(<Line key={line} line={line} left={left} {...given} />);
  }
  const move = (event: KeyboardEvent) => {
    const line = chosen < 0 ? -1 : lineOf(items, chosen);
    const page = Math.max(1, Math.floor(view.height / LINE) - 2);
    const steps: Record<string, number> = {
      ArrowDown: line + 1, ArrowUp: Math.max(0, line - 1), PageDown: line + page,
      PageUp: line - page, Home: 0, End: items.count - 1,
    };
    if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    let next = Math.min(Math.max(0, steps[event.key]), items.count - 1);
    if (items.gaps[next] > 0) next += event.key === "ArrowUp" && next > 0 ? -1 : 1;
    if (items.count) onChoose(event.key === "ArrowUp" ? items.lasts[next] : items.rows[next]);
  };
  return (
    <>
      <div
        class={isCut ? "timeline cut" : "timeline"} ref={scroller} tabIndex={0} role="listbox" aria-label="Events, from top to bottom"
        aria-activedescendant={chosen >= 0 ? `row-${chosen}` : undefined} onKeyDown={move}
        onMouseLeave={() => { mouse.current = { x: -1, y: -1 }; setHover(null); }} onMouseDown={() => setHover(null)}
        onMouseMove={(event) => {
          // A browser tells a move of a mouse that rests, too, when what is below it has changed.
          const isAtRest = event.clientX === mouse.current.x && event.clientY === mouse.current.y;
          mouse.current = { x: event.clientX, y: event.clientY };
          if (isAtRest) return;
          const row = (event.target as Element).closest<HTMLElement>("[data-row]")?.dataset.row;
          setHover(row === undefined ? null : { row: Number(row), x: event.clientX, y: event.clientY });
        }}
      >
        <Head model={model} columns={columns} left={left} most={view.height * MOST_OF_HEAD} />
        <div class="lines" role="presentation" style={{ height: `${items.count * LINE}px`, minWidth: `${left + 320}px` }}>
          <Picture {...given} first={first} last={last} hiddenPx={top - first * LINE} />
          {lines}
        </div>
      </div>
      {hover && <Tip model={model} {...hover} />}
    </>
  );
}

/** The height in which lines are seen: below the head, which stays. */
function roomOf(element: HTMLElement): number {
  return element.clientHeight - element.querySelector<HTMLElement>(".head")!.offsetHeight;
}

/** Scroll so that a line is in the upper part of the view, and no line is cut by the head. */
function show(element: HTMLElement, line: number) {
  const above = Math.max(0, Math.floor((roomOf(element) / LINE - 1) / 3));
  element.scrollTop = Math.max(0, line - above) * LINE;
}

/** Scroll so that a line is in view, with some lines around it as far as there is room. */
function bring(element: HTMLElement, line: number) {
  const top = line * LINE;
  const room = roomOf(element);
  const around = Math.max(0, Math.min(3, Math.floor((room / LINE - 1) / 2)));
  if (top < element.scrollTop) element.scrollTop = Math.max(0, line - around) * LINE;
  else if (top + LINE > element.scrollTop + room) {
    element.scrollTop = Math.min(line, Math.ceil(line + 1 - room / LINE) + around) * LINE;
  }
}

function Head({ model, columns, left, most }: { model: Model; columns: Columns; left: number; most: number }) {
  // As high as the longest upright name needs, and no higher, so that lines have the room.
  const longest = Math.max(0, ...columns.all.map((each) => (each.width > NARROW ? 0 : each.label.length)));
  const height = Math.max(40, Math.min(168, most, Math.max(60, 22 + longest * 7)));
  return (
    <div class="head" role="presentation" style={{ minWidth: `${left + 320}px`, height: `${height}px` }}>
      <span class="corner" style={{ width: `${TIME}px` }}>number, time (UTC)</span>
      {columns.all.map((each) => (
        <span
          key={`${each.kind} ${each.lane}`} title={shown(each.lane < 0 ? each.label : [...model.lanes[each.lane]].filter(Boolean).join(" "))}
          class={`lane ${each.kind} ${each.width > NARROW ? "wide" : "narrow"}`}
          style={{ left: `${TIME + each.left}px`, width: `${each.width}px`, height: `${height - 8}px` }}
        >
          <span>{shown(each.label)}</span>
        </span>
      ))}
      <span class="what" style={{ left: `${left}px` }}>what happened</span>
    </div>
  );
}

function Line({ model, items, chosen, found, named, left, line, onChoose, onUnfold }: Given & { line: number; left: number }) {
  const row = items.rows[line];
  const top = `${line * LINE}px`;
  const { rows } = model;
  if (items.gaps[line] > 0) {
    return (
      <div class="line gap" role="presentation" style={{ top }}>
        <span class="time" style={{ width: `${TIME}px` }}>· {spanOf(items.gaps[line])} ·</span>
        <span class="text" style={{ marginLeft: `${left - TIME}px` }}>no event for {spanOf(items.gaps[line])}</span>
      </div>
    );
  }
  if (items.folds[line] > 0) {
    const apis = [...new Set(foldedIn(model, items, line).map((each) => rows.api[each]))].sort();
    return (
      <div class="line fold" style={{ top }} role="option" id={`row-${row}`} aria-selected={false} onClick={() => onUnfold(row)}>
        <span class="time" style={{ width: `${TIME}px` }}>
          <b>{rows.seq[row]}</b> {timeOf(model.start_ms + rows.at[row])}
        </span>
        <span class="text" style={{ marginLeft: `${left - TIME}px` }}>
          ▸ {items.folds[line]} requests that set up connections ({apis.join(", ")})
        </span>
      </div>
    );
  }
  const transaction = rows.transaction[row];
  const classes = ["line", rows.error[row] && "error", rows.mark[row] === "f" && "fault",
    named.has(row) && "named", found?.has(row) && "found", row === chosen && "chosen"].filter(Boolean).join(" ");
  return (
    <div
      class={classes} style={{ top }} role="option" id={`row-${row}`} data-row={row}
      aria-selected={row === chosen} onClick={() => onChoose(row)}
    >
      <span class="time" style={{ width: `${TIME}px` }}>
        <b>{rows.seq[row]}</b> {timeOf(model.start_ms + rows.at[row])}
      </span>
      <span class={`text${transaction ? ` t${transaction % 8}` : ""}`} style={{ marginLeft: `${left - TIME}px` }}>
        {transaction > 0 && <span class="tag">T{transaction}</span>}
        {rows.mark[row] === "f" && <span class="word">FAULT</span>}
        {rows.mark[row] === "t" && <span class="word clock">CLOCK</span>}
        {rows.error[row] === 1 && <span class="word">ERROR</span>}
        {rows.client[row] && <span class="client">{shown(rows.client[row].slice(0, 40))}</span>}
        {shown(rows.text[row])}
      </span>
    </div>
  );
}

function Picture({ model, items, columns, chosen, showsArcs, first, last, hiddenPx }: Given & { first: number; last: number; hiddenPx: number }) {
  const { rows, bands, arcs } = model;
  const waits = useMemo(
    () => rows.answer.flatMap((answer, row) => (answer >= 0 ? [{ first: row, last: answer }] : [])), [model],
  );
  const ofBands = useMemo(() => new Stretches(bands.map(([, a, b]) => ({ first: a, last: b }))), [model]);
  const ofArcs = useMemo(() => new Stretches(arcs.map(([a, b]) => ({ first: a, last: b }))), [model]);
  const ofWaits = useMemo(() => new Stretches(waits), [waits]);
  if (items.count === 0) return null;
  const firstRow = items.rows[first];
  const lastRow = items.lasts[last];
  const y = (row: number) => (Math.min(Math.max(lineOf(items, row), first - 2), last + 2) - first) * LINE + LINE / 2;
  const center = (lane: number) => {
    const column = columns.of.get(lane);
    return column ? TIME + column.left + NARROW / 2 : -1;
  };
  const drawn: ComponentChildren[] = [];
  for (const each of columns.all) {
    const x = TIME + each.left + NARROW / 2;
    drawn.push(<path key={`l${each.kind}${each.lane}`} class="guide" d={`M${x} 0V${(last - first + 1) * LINE}`} />);
  }
  for (const number of ofBands.between(firstRow, lastRow)) {
    const [lane, from, to, kind, label, transaction] = bands[number];
    const column = columns.of.get(lane);
    if (!column || column.lane < 0) continue;
    const top = y(from);
    const height = Math.max(y(to) - top, 3);
    const isWide = column.width > NARROW;
    const inset = kind === "state" ? 0 : 5;
    // The label stays in view as long as the band is, and between two lines, whose joints would cross it.
    const labelY = Math.max(top, (Math.ceil(hiddenPx / LINE - 0.5) + 0.5) * LINE) + 15.5;
    const hasRoom = labelY + 3 <= Math.max(top + height, top + LINE - 4);
    drawn.push(
      <g key={`b${number}`} class={`band ${kind} ${transaction ? `t${transaction % 8}` : ""} ${label.split(" ")[0]}`}>
        <rect x={TIME + column.left + 2 + inset} y={top} width={column.width - 4 - 2 * inset} height={height} rx={3} />
        {isWide && height >= LINE - 4 && hasRoom && <text x={TIME + column.left + NARROW} y={labelY}>{shown(label)}</text>}
        {!isWide && transaction > 0 && height >= LINE * 2 && hasRoom && (
          <text class="small" x={TIME + column.left + NARROW / 2} y={labelY}>T{transaction}</text>
        )}
      </g>,
    );
  }
  for (const number of ofWaits.between(firstRow, lastRow)) {
    const { first: from, last: to } = waits[number];
    if (!hasLine(items, from) && !hasLine(items, to)) continue;
    const lane = rows.lanes[from].find((each) => model.lanes[each][0] === "client");
    const x = lane === undefined ? -1 : center(lane);
    if (x >= 0) drawn.push(<path key={`w${number}`} class="wait" d={`M${x} ${y(from)}V${y(to)}`} />);
  }
  for (let line = first; line <= last; line++) {
    if (items.gaps[line] > 0) continue;
    const row = items.rows[line];
    const isFold = items.folds[line] > 0;
    const touched = isFold ? foldedIn(model, items, line).flatMap((each) => rows.lanes[each]) : rows.lanes[row];
    const xs = [...new Set(touched.map(center).filter((x) => x >= 0))].sort((a, b) => a - b);
    const at = (line - first) * LINE + LINE / 2;
    if (xs.length > 1 && !isFold) drawn.push(<path key={`j${row}`} class="joint" d={`M${xs[0]} ${at}H${xs[xs.length - 1]}`} />);
    const mark = isFold ? "o" : rows.error[row] && rows.mark[row] !== "f" ? "e" : rows.mark[row];
    for (const x of xs) drawn.push(<Mark key={`m${row} ${x}`} mark={mark} x={x} y={at} />);
  }
  if (showsArcs) {
    const x = TIME + columns.width + 4;
    for (const number of ofArcs.between(firstRow, lastRow).slice(0, MOST_ARCS)) {
      const [from, to, kind] = arcs[number];
      if (!hasLine(items, from) || !hasLine(items, to)) continue; // it would lead to another event
      // An arc ends in the upper half of its line and begins in the lower one, and its neighbours bend otherwise.
      const [a, b] = [y(from) + 4, y(to) - 4];
      const bend = Math.min(34, 14 + Math.abs(b - a) / 12) + (number % 3) * 5;
      const isChosen = chosen === from || chosen === to;
      drawn.push(
        <g key={`a${number}`} class={`arc ${kind} ${isChosen ? "chosen" : ""}`}>
          <path d={`M${x} ${a}C${x + bend} ${a} ${x + bend} ${b} ${x + 4} ${b}`} />
          <path class="tip" d={`M${x} ${b}l7 -3.5v7z`} />
        </g>,
      );
    }
  }
  return (
    <svg
      class="picture" aria-hidden="true" width={TIME + columns.width + ARCS} height={(last - first + 1) * LINE}
      style={{ top: `${first * LINE}px` }}
    >
      {drawn}
    </svg>
  );
}

function Tip({ model, row, x, y }: { model: Model; row: number; x: number; y: number }) {
  const { rows, lanes } = model;
  const isLow = y > window.innerHeight * 0.6;
  const style = {
    left: `${Math.max(8, Math.min(x + 14, window.innerWidth - 440))}px`,
    ...(isLow ? { bottom: `${window.innerHeight - y + 12}px` } : { top: `${y + 16}px` }),
  };
  return (
    <div class="tip" role="tooltip" style={style}>
      <div class="dim">
        {rows.seq[row]}{rows.last[row] > rows.seq[row] ? `–${rows.last[row]}` : ""} · {WORDS[rows.mark[row]]}
        {rows.error[row] ? " · error" : ""}
        {row > 0 ? ` · ${spanOf(rows.at[row] - rows.at[row - 1])} after the event before` : ""}
      </div>
      <div>{shown(rows.text[row])}</div>
      <div class="dim">{rows.lanes[row].slice(0, 8).map((lane) => `${lanes[lane][0]} ${shown(lanes[lane][1].slice(0, 60))}`).join(" · ")}</div>
    </div>
  );
}
