// What several views are made of: links, tables, pages, marks, buttons that ask first.
import type { ComponentChildren, VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, shown, time } from "./text";
import type { Asked } from "./asking";

export function hash(...parts: (string | number)[]): string {
  return `#/${parts.map((each) => encodeURIComponent(String(each))).join("/")}`;
}

export function Failed({ text }: { text?: string }): VNode | null {
  return text ? <p class="failed" role="alert">{shown(text, 1000)}</p> : null;
}

/** What an answer becomes, or that it is awaited, or why there is none. */
export function Answer<T>(props: { asked: Asked<T>; children: (answer: T) => ComponentChildren }) {
  const { asked, children } = props;
  return (
    <>
      <Failed text={asked.error} />
      {asked.answer !== undefined ? children(asked.answer) : !asked.error && <p>Asking …</p>}
    </>
  );
}

export interface Column<Row> {
  name: string;
  cell: (row: Row) => ComponentChildren;
  isNumber?: boolean;
}

interface TableProps<Row> {
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string | number;
  detail?: (row: Row) => ComponentChildren;
  empty?: string;
}

export function Table<Row>(props: TableProps<Row>): VNode {
  const { caption, columns, rows, keyOf, detail, empty } = props;
  if (!rows.length) return <p class="empty">{empty ?? `${caption}: none`}</p>;
  return (
    <div class="wide" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((each) => (
              <th key={each.name} scope="col" class={each.isNumber ? "number" : ""}>{each.name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const inside = detail?.(row);
            return [
              <tr key={keyOf(row)}>
                {columns.map((each) => (
                  <td key={each.name} class={each.isNumber ? "number" : ""}>{each.cell(row)}</td>
                ))}
              </tr>,
              inside && (
                <tr key={`${keyOf(row)} detail`} class="detail">
                  <td colSpan={columns.length}>{inside}</td>
                </tr>
              ),
            ];
          })}
        </tbody>
      </table>
    </div>
  );
}

export const ON_PAGE = 50;

export function Pages(props: { first: number; total: number; go: (first: number) => void }) {
  const { first, total, go } = props;
  if (total <= ON_PAGE && first === 0) return null;
  const last = Math.min(total, first + ON_PAGE);
  return (
    <nav class="pages" aria-label="Pages">
      <button disabled={first === 0} onClick={() => go(Math.max(0, first - ON_PAGE))}>Before</button>
      <span>{count(Math.min(first + 1, total))} to {count(last)} of {count(total)}</span>
      <button disabled={last >= total} onClick={() => go(first + ON_PAGE)}>Next</button>
    </nav>
  );
}

export function Search(props: { label: string; value: string; set: (text: string) => void }) {
  return (
    <label class="search">
      {props.label}
      <input
        type="search"
        value={props.value}
        onInput={(event) => props.set((event.target as HTMLInputElement).value)}
      />
    </label>
  );
}

export type Tone = "good" | "bad" | "waits" | "quiet";

/** A word with a sign before it, so that no meaning is in the colour alone. */
export function Mark({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  const sign = { good: "✓", bad: "✗", waits: "◔", quiet: "·" }[tone];
  return <span class={`mark ${tone}`}><span aria-hidden="true">{sign}</span> {children}</span>;
}

/** A button that acts at its second press. The focus goes to the question, and back after it. */
export function Sure(props: { label: string; about: string; act: () => Promise<unknown> }) {
  const [state, setState] = useState<"" | "asks" | "acts">("");
  const [error, setError] = useState("");
  const button = useRef<HTMLButtonElement>(null);
  const wasAsked = useRef(false);
  // Not by `autofocus`, which a browser heeds once for each page, and not before it draws again.
  useLayoutEffect(() => {
    const isLost = document.activeElement === document.body;
    if (state === "asks" || (state === "" && wasAsked.current && isLost)) button.current?.focus();
    wasAsked.current = state !== "";
  }, [state]);
  const act = async () => {
    setState("acts");
    setError("");
    try {
      await props.act();
    } catch (failed) {
      setError(String((failed as Error).message));
    }
    setState("");
  };
  if (state === "") {
    return (
      <>
        <button ref={button} aria-label={`${props.label} ${props.about}`} onClick={() => setState("asks")}>
          {props.label}
        </button>
        <Failed text={error} />
      </>
    );
  }
  return (
    <span class="sure">
      <button ref={button} class="danger" disabled={state === "acts"} onClick={act}
        aria-label={`Yes, ${props.label.toLowerCase()} ${props.about}`}>
        Yes, {props.label.toLowerCase()}
      </button>
      <button onClick={() => setState("")}>No</button>
    </span>
  );
}

export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Producer({ id, epoch }: { id: number; epoch?: number }) {
  if (id < 0) return <>-</>;
  return <span class="one-line">{id}{epoch !== undefined && ` epoch ${epoch}`}</span>;
}

export function Time({ ms }: { ms: number }) {
  return <span class="one-line">{time(ms)}</span>;
}
