// Which rows a reader looks for: words, all of which a row must have, some of them with a subject.
import { type Model } from "../shared/model";

/** The words with a subject, and what they mean; the page's help lists them. */
export const SUBJECTS: Record<string, string> = {
  topic: "a topic, such as topic:orders",
  id: "a transactional id, a group or a member",
  client: "a client id",
  api: "an API, such as api:EndTxn",
  error: "an error, such as error:FENCED",
  offset: "an offset that is read, written or committed, such as offset:17",
  seq: "the number of an event",
};

type Check = (row: number) => boolean;
const OF_ID = new Set(["transaction", "group", "member"]);

/** Finds rows; the texts to search are made once, because a search has to be quick. */
export class Search {
  private readonly texts: string[];

  constructor(private readonly model: Model) {
    const { rows, lanes } = model;
    this.texts = rows.text.map((text, row) => {
      const names = rows.lanes[row].map((lane) => lanes[lane][1]).join(" ");
      const topics = rows.topics[row].join(" ");
      return `${rows.seq[row]} ${rows.client[row]} ${text} ${names} ${topics}`.toLowerCase();
    });
  }

  /** The numbers of the rows that a query finds, in their order; null for an empty query. */
  find(query: string): number[] | null {
    const checks = query.trim().toLowerCase().split(/\s+/).filter(Boolean).map((each) => this.check(each));
    if (checks.length === 0) return null;
    const found: number[] = [];
    for (let row = 0; row < this.texts.length; row++) {
      if (checks.every((check) => check(row))) found.push(row);
    }
    return found;
  }

  private check(word: string): Check {
    const [, subject, value] = /^(\w+):(.+)$/.exec(word) ?? [];
    if (!subject || !(subject in SUBJECTS)) return (row) => this.texts[row].includes(word);
    const { rows, lanes, transactions } = this.model;
    const has = (text: string) => text.toLowerCase().includes(value);
    switch (subject) {
      case "topic":
        return (row) => rows.topics[row].some(has) || this.inLanes(row, "partition", has);
      case "id": {
        const chosen = new Set(
          lanes.flatMap(([kind, name], lane) => (OF_ID.has(kind) && has(name) ? [lane] : [])),
        );
        return (row) =>
          rows.lanes[row].some((lane) => chosen.has(lane)) ||
          (rows.transaction[row] > 0 && has(transactions[rows.transaction[row] - 1][0]));
      }
      case "client":
        return (row) => has(rows.client[row]);
      case "api":
        return (row) => has(rows.api[row]);
      case "error":
        return (row) => rows.errors[row].some(has);
      case "offset": {
        const offset = Number(value);
        return (row) => rows.offsets[row].some(([, first, last]) => first <= offset && offset <= last);
      }
      default: {
        const seq = Number(value);
        return (row) => rows.seq[row] <= seq && seq <= rows.last[row];
      }
    }
  }

  private inLanes(row: number, kind: string, has: (text: string) => boolean): boolean {
    return this.model.rows.lanes[row].some((lane) => {
      const [each, name] = this.model.lanes[lane];
      return each === kind && has(name);
    });
  }
}
