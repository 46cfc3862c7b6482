// The lines of the time line: the rows that are shown; gaps between them, and requests that set up connections, are folded.
import { type Model, type Rows } from "../shared/model";

export const GAP_MS = 1000;

export interface Filter {
  clients: ReadonlySet<string>; // empty: all
  apis: ReadonlySet<string>;
  onlyTrouble: boolean;
  matches: ReadonlySet<number> | null; // null: all
  quiet: boolean; // connections, their requests and the metadata log, too
  named: ReadonlySet<number>; // rows that keep a line of their own
  opened: ReadonlySet<number>; // rows whose fold is open
}

/** The lines: a row, or several that are folded into one, and before it the time without events, 0 for a line that is no gap. */
export interface Items {
  rows: Int32Array;
  lasts: Int32Array; // the last row of the line
  gaps: Float64Array;
  folds: Int32Array; // the number of requests that are folded; 0 for a line of one row
  count: number;
}

const QUIET = new Set(["n", "o"]);
const SETUP = new Set(["ApiVersions", "FindCoordinator", "Metadata"]);
const LEAST = 2;

/** Whether a row is a request that only sets up connections and did not fail, or its answer. */
export function isSetup({ rows }: Model, row: number): boolean {
  const failed = (each: number) => each >= 0 && (rows.error[each] === 1 || rows.errors[each].length > 0);
  return SETUP.has(rows.api[row]) && "xqa".includes(rows.mark[row]) && !failed(row) && !failed(otherSide(rows, row));
}

/** The row of the answer to a request, or of the request of an answer; -1 if they share a row. */
function otherSide(rows: Rows, row: number): number {
  return rows.mark[row] === "a" ? rows.request[row] : rows.answer[row];
}

export function itemsOf(model: Model, filter: Filter): Items {
  const { rows } = model;
  const found: { row: number; last: number; gap: number; fold: number }[] = [];
  const folds = !filter.quiet && !filter.onlyTrouble && !filter.matches && !filter.apis.size;
  // A fault is told together with the request that it acted on.
  const hit = new Set(rows.mark.flatMap((mark, row) => (mark === "f" && rows.request[row] >= 0 ? [rows.request[row]] : [])));
  const isTold = (row: number) => filter.named.has(row) || hit.has(row);
  let before = -1;
  let run: number[] = [];
  const end = () => {
    const requests = run.filter((row) => rows.mark[row] !== "a").length;
    if (requests >= LEAST && !run.some((row) => filter.opened.has(row))) {
      found.push({ row: run[0], last: run[run.length - 1], gap: 0, fold: requests });
    } else {
      for (const row of run) found.push({ row, last: row, gap: 0, fold: 0 });
    }
    run = [];
  };
  for (let row = 0; row < rows.seq.length; row++) {
    if (!isShown(row)) continue;
    const gap = before < 0 ? 0 : rows.at[row] - rows.at[before];
    if (gap >= GAP_MS) {
      end();
      found.push({ row, last: row, gap, fold: 0 });
    }
    if (folds && isSetup(model, row) && !isTold(row) && !isTold(otherSide(rows, row))) {
      run.push(row);
    } else {
      end();
      found.push({ row, last: row, gap: 0, fold: 0 });
    }
    before = row;
  }
  end();
  return {
    rows: Int32Array.from(found, (each) => each.row), lasts: Int32Array.from(found, (each) => each.last),
    gaps: Float64Array.from(found, (each) => each.gap), folds: Int32Array.from(found, (each) => each.fold),
    count: found.length,
  };

  function isShown(row: number): boolean {
    if (filter.matches && !filter.matches.has(row)) return false;
    if (filter.onlyTrouble && !isTrouble(row)) return false;
    if (!filter.quiet && QUIET.has(rows.mark[row])) return false;
    if (rows.mark[row] === "t") return true; // the clock is everybody's
    if (filter.clients.size && !filter.clients.has(ofRequest(rows.client, row))) return false;
    return !filter.apis.size || filter.apis.has(ofRequest(rows.api, row));
  }

  function isTrouble(row: number): boolean {
    return rows.mark[row] === "f" || rows.error[row] === 1;
  }

  function ofRequest(values: string[], row: number): string {
    return values[row] || (rows.request[row] >= 0 ? values[rows.request[row]] : "");
  }
}

/** The rows that share a line, and that are shown. */
export function foldedIn(model: Model, items: Items, line: number): number[] {
  const found: number[] = [];
  for (let row = items.rows[line]; row <= items.lasts[line]; row++) {
    if (isSetup(model, row)) found.push(row);
  }
  return found;
}

/** The line of a row, or of the next one that is shown; `count` behind the last. */
export function lineOf(items: Items, row: number): number {
  let low = 0;
  let high = items.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items.lasts[middle] < row) low = middle + 1;
    else high = middle;
  }
  return low < items.count && items.gaps[low] > 0 ? low + 1 : low;
}

/** Whether a row has a line of its own, and is neither folded nor left out by a filter. */
export function hasLine(items: Items, row: number): boolean {
  const line = lineOf(items, row);
  return items.rows[line] === row && items.folds[line] === 0;
}

/** Finds what overlaps a stretch of rows, such as bands and arcs, without a look at all of them. */
export class Stretches {
  private readonly blocks = new Map<number, number[]>();
  private static readonly SIZE = 256;

  constructor(private readonly ends: { first: number; last: number }[]) {
    ends.forEach(({ first, last }, number) => {
      for (let block = this.block(first); block <= this.block(last); block++) {
        const found = this.blocks.get(block);
        if (found) found.push(number);
        else this.blocks.set(block, [number]);
      }
    });
  }

  between(first: number, last: number): number[] {
    const found = new Set<number>();
    for (let block = this.block(first); block <= this.block(last); block++) {
      for (const number of this.blocks.get(block) ?? []) {
        const each = this.ends[number];
        if (each.first <= last && each.last >= first) found.add(number);
      }
    }
    return [...found];
  }

  private block(row: number): number {
    return Math.floor(row / Stretches.SIZE);
  }
}
