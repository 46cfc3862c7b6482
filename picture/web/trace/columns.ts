// Where lanes are drawn: each lane of an open kind has a column, those of a closed kind share one.
import { type Lane, type LaneKind } from "../shared/model";

export const KINDS: { kind: LaneKind; one: string; many: string }[] = [
  { kind: "client", one: "client", many: "clients" },
  { kind: "transaction", one: "transactional id", many: "transactional ids" },
  { kind: "group", one: "group", many: "groups" },
  { kind: "member", one: "member", many: "members" },
  { kind: "coordinator", one: "coordinator", many: "coordinators" },
  { kind: "partition", one: "partition", many: "partitions" },
];
export const NARROW = 26;
const WIDTHS: Partial<Record<LaneKind, number>> = { transaction: 120, group: 152 };

export interface Column {
  kind: LaneKind;
  lane: number; // -1: all lanes of the kind
  label: string;
  left: number;
  width: number;
}

export interface Columns {
  all: Column[];
  width: number;
  of: Map<number, Column>; // by lane
}

/** What a reader has chosen: kinds that are open, lanes that are hidden, and those that are never folded. */
export interface Choice {
  open: ReadonlySet<LaneKind>;
  hidden: ReadonlySet<number>;
  kept: ReadonlySet<number>;
}

export function columnsOf(lanes: Lane[], choice: Choice): Columns {
  const all: Column[] = [];
  const of = new Map<number, Column>();
  let left = 0;
  const add = (kind: LaneKind, lane: number, label: string, width: number) => {
    const column = { kind, lane, label, left, width };
    all.push(column);
    left += width;
    return column;
  };
  for (const { kind, one, many } of KINDS) {
    const shown = lanes.flatMap((each, lane) => (each[0] === kind && !choice.hidden.has(lane) ? [lane] : []));
    if (shown.length === 0) continue;
    if (choice.open.has(kind)) {
      for (const lane of shown) {
        of.set(lane, add(kind, lane, lanes[lane][1], WIDTHS[kind] ?? NARROW));
      }
    } else {
      const kept = shown.filter((lane) => choice.kept.has(lane));
      const folded = shown.filter((lane) => !choice.kept.has(lane));
      for (const lane of kept) of.set(lane, add(kind, lane, lanes[lane][1], NARROW));
      if (folded.length === 0) continue;
      // The name of a single lane says more than its number; its kind is one word. Those of coordinators say little.
      const isNamed = folded.length === 1 && kind !== "coordinator";
      const count = `${folded.length} ${kept.length ? "more " : ""}${folded.length === 1 ? one : many}`;
      const column = add(kind, isNamed ? folded[0] : -1, isNamed ? `${one.split(" ").at(-1)} ${lanes[folded[0]][1]}` : count, NARROW);
      for (const lane of folded) of.set(lane, column);
    }
  }
  return { all, width: left, of };
}

/** The kinds that are open at first: those that matter most, as long as there is room beside the lanes that are kept. */
export function firstOpen(lanes: Lane[], room: number, kept: ReadonlySet<number>): Set<LaneKind> {
  const open = new Set<LaneKind>();
  for (const kind of ["transaction", "partition", "group", "client", "member"] as const) {
    const attempt = new Set(open).add(kind);
    const { width } = columnsOf(lanes, { open: attempt, hidden: new Set(), kept });
    if (width <= room + kept.size * NARROW) open.add(kind);
  }
  return open;
}
