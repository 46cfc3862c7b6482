// What `picture/model.py` makes of a trace, and how it is read from the page.

/** One kind of lane, as `lanes.py` names it. */
export type LaneKind =
  | "client" | "transaction" | "group" | "member" | "coordinator" | "partition";

export type Lane = [kind: LaneKind, name: string, parent: string];
export type Band = [
  lane: number, first: number, last: number, kind: "state" | "open", label: string,
  transaction: number,
];
export type Arc = [first: number, last: number, kind: "copy" | "cover" | "refused", about: string];
export type Transaction = [
  id: string, first: number, last: number, outcome: "commit" | "abort" | "open", before: boolean,
];

/** A list for each field of the rows; rows are named by their place in these lists. */
export interface Rows {
  seq: number[];
  last: number[];
  events: number[];
  at: number[];
  mark: string[];
  text: string[];
  error: (0 | 1)[];
  lanes: number[][];
  api: string[];
  client: string[];
  request: number[];
  answer: number[];
  transaction: number[];
  errors: string[][];
  topics: string[][];
  offsets: [lane: number, first: number, last: number][][];
}

export interface Model {
  version: number;
  title: string;
  failure: string | null;
  total: number;
  left_out: number;
  start_ms: number;
  findings?: [seq: number, text: string, isLikelyCause?: boolean][]; // what stands out, from cause to effect
  named?: number[]; // the lanes of the clients that the sentences name
  said?: string | null; // what the failed test says, in a line
  earlier?: Record<number, number[]>; // by row: the offsets of each batch that its Fetch did not ask for
  usual?: Record<string, string>; // codes that a healthy client expects, and what it does then
  rows: Rows;
  transactions: Transaction[];
  bands: Band[];
  arcs: Arc[];
  lanes: Lane[];
}

/** An event as its line in the file of the trace. */
export type Event = Record<string, unknown> & { seq: number; at_ms: number; kind: string };

/** What is packed in an element: gzip in base64, so that no value can end the element. */
async function unpacked<T>(element: Element): Promise<T> {
  const text = atob(element.textContent ?? "");
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as T;
}

export function readModel(): Promise<Model> {
  return unpacked<Model>(document.querySelector('script[data-kind="model"]')!);
}

/** The events of a page, which are unpacked a piece at a time. */
export class Pieces {
  private readonly elements = [...document.querySelectorAll('script[data-kind="piece"]')];
  private readonly kept = new Map<number, Promise<Event[]>>();
  private readonly starts: number[] = [];

  constructor(rows: Rows, private readonly size = 1000, private readonly most = 8) {
    let start = 0;
    for (const count of rows.events) {
      this.starts.push(start);
      start += count;
    }
    this.starts.push(start);
  }

  /** The events of a row. */
  async of(row: number): Promise<Event[]> {
    const found: Event[] = [];
    for (let at = this.starts[row]; at < this.starts[row + 1]; at++) {
      const piece = await this.piece(Math.floor(at / this.size));
      if (piece[at % this.size]) found.push(piece[at % this.size]);
    }
    return found;
  }

  private piece(number: number): Promise<Event[]> {
    let found = this.kept.get(number);
    if (!found) {
      const element = this.elements[number];
      found = element ? unpacked<Event[]>(element) : Promise.resolve([]);
      this.kept.set(number, found);
      if (this.kept.size > this.most) this.kept.delete(this.kept.keys().next().value!);
    }
    return found;
  }
}

/** The row that has an event; -1 for none. */
export function rowOf(rows: Rows, seq: number): number {
  for (let i = 0; i < rows.seq.length; i++) {
    if (rows.seq[i] <= seq && seq <= rows.last[i]) return i;
  }
  return -1;
}

/** A time of the trace as HH:MM:SS.mmm in UTC. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23);
}

/** A span of time with its unit. */
export function spanOf(ms: number): string {
  if (ms >= 3_600_000) return `${(ms / 3_600_000).toFixed(1)} h`;
  if (ms >= 60_000) return `${(ms / 60_000).toFixed(1)} min`;
  return ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${ms} ms`;
}
