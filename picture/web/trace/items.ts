// The lines of the time line: the rows that are shown, and the gaps between them, folded.
import { type Model } from "../shared/model";

export const GAP_MS = 1000;

export interface Filter {
  clients: ReadonlySet<string>; // empty: all
  apis: ReadonlySet<string>;
  onlyTrouble: boolean;
  matches: ReadonlySet<number> | null; // null: all
  quiet: boolean; // connections and the metadata log, too
}

/** The lines: a row, and before it the time without events, 0 for a line that is no gap. */
export interface Items {
  rows: Int32Array;
  gaps: Float64Array;
  count: number;
}

const QUIET = new Set(["n", "o"]);

export function itemsOf({ rows }: Model, filter: Filter): Items {
  const found: number[] = [];
  const gaps: number[] = [];
  let before = -1;
  for (let row = 0; row < rows.seq.length; row++) {
    if (!isShown(row)) continue;
    const gap = before < 0 ? 0 : rows.at[row] - rows.at[before];
    if (gap >= GAP_MS) {
      found.push(row);
      gaps.push(gap);
    }
    found.push(row);
    gaps.push(0);
    before = row;
  }
  return { rows: Int32Array.from(found), gaps: Float64Array.from(gaps), count: found.length };

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

/** The line of a row, or of the next one that is shown; `count` behind the last. */
export function lineOf(items: Items, row: number): number {
  let low = 0;
  let high = items.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items.rows[middle] < row) low = middle + 1;
    else high = middle;
  }
  return low < items.count && items.gaps[low] > 0 ? low + 1 : low;
}

/** Whether a row has a line, and is not left out by a filter. */
export function hasLine(items: Items, row: number): boolean {
  return items.rows[lineOf(items, row)] === row;
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
