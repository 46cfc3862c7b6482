// All of one event: both sides of a request, what it changed, and the events that belong to it.
import { type ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import { Fields, shown } from "../shared/fields";
import { type Arc, type Event, type Model, type Pieces, timeOf } from "../shared/model";
import { Contents, without } from "./contents";
import { WORDS } from "./marks";

// What leads from a read to another event, and back.
const ARCS: Record<Arc[2], [string, string]> = {
  copy: ["copied by", "copy of"],
  cover: ["covered by the offset of", "covers"],
  refused: ["not covered, as this was refused:", "refused to cover"],
};

interface Given {
  model: Model;
  pieces: Pieces;
  row: number;
  isBelow: boolean; // the time line, and not beside it
  onChoose(row: number): void;
  onMove(): void;
  onClose(): void;
}

export function Details({ model, pieces, row, isBelow, onChoose, onMove, onClose }: Given) {
  const { rows } = model;
  const events = useEvents(pieces, rows.request[row] >= 0 && rows.mark[row] === "a"
    ? [rows.request[row], row] : rows.answer[row] >= 0 ? [row, rows.answer[row]] : [row]);
  const changes = useMemo(() => changesOf(model), [model]);
  const arcs = useMemo(() => model.arcs.filter(([a, b]) => a === row || b === row), [model, row]);
  const begin = rows.mark[row] === "a" && rows.request[row] >= 0 ? rows.request[row] : row;
  const request = events.find((each) => each.kind === "request");
  const answer = events.find((each) => each.kind === "answer");
  const earlier = model.earlier?.[begin] ?? [];
  const taken = listOf(answer?.response, "batches").map((each, number) => without(each, earlier[number] ?? 0));
  const others = events.filter((each) => each !== request && each !== answer);
  const go = (to: number) => <Go model={model} row={to} onChoose={onChoose} />;
  return (
    <aside class="details" aria-label={`Event ${rows.seq[row]}`}>
      <div class="bar">
        <h2>#{rows.seq[row]}</h2>
        <span class="dim">{timeOf(model.start_ms + rows.at[row])} · {WORDS[rows.mark[row]]}</span>
        <span class="space" />
        <a href={`#seq=${rows.seq[row]}`}>link</a>
        <button type="button" class="move" onClick={onMove} aria-label={`Show the event ${isBelow ? "beside" : "below"} the time line`}>
          {isBelow ? "beside" : "below"}
        </button>
        <button type="button" onClick={onClose} aria-label="Close the event">✕</button>
      </div>
      <div class="sections">
      <p class={rows.error[row] ? "said error" : "said"}>{shown(rows.text[row])}</p>
      {!rows.error[row] && rows.errors[row].filter((each) => model.usual?.[each]).map((each) => (
        <p key={each} class="said dim">{each} is usual: {model.usual![each]}.</p>
      ))}
      {rows.transaction[row] > 0 && <OfTransaction model={model} row={row} onChoose={onChoose} />}
      <Section title="Belongs to" isShown={rows.request[row] >= 0}>{go(rows.request[row])}</Section>
      <Section title="Answered by" isShown={rows.answer[row] >= 0}>{go(rows.answer[row])}</Section>
      <Section title="Changed" isShown={(changes.get(begin)?.length ?? 0) > 0}>
        {changes.get(begin)?.slice(0, 100).map((each) => go(each))}
      </Section>
      <Section title="Records" isShown={arcs.length > 0}>
        {arcs.slice(0, 100).map(([a, b, kind, about]) => (
          <div key={`${a} ${b} ${kind}`}>
            <span class="dim">
              {ARCS[kind][a === row ? 0 : 1]}{" "}
              {shown(about)}
            </span>
            {go(a === row ? b : a)}
          </div>
        ))}
      </Section>
      <Contents batches={[...listOf(request?.request, "batches"), ...taken]} />
      {request && <Section title="Request" isShown><Fields value={request.request ?? {}} /><Fields value={rest(request, "request")} /></Section>}
      {answer && <Section title="Answer" isShown><Fields value={answer.response ?? {}} /><Fields value={rest(answer, "response")} /></Section>}
      {others.map((each) => (
        <Section key={each.seq} title={each.kind} isShown><Fields value={each} /></Section>
      ))}
      </div>
    </aside>
  );
}

function OfTransaction({ model, row, onChoose }: Pick<Given, "model" | "row" | "onChoose">) {
  const number = model.rows.transaction[row];
  const [id, first, last, outcome, isOlder] = model.transactions[number - 1];
  const ends = { commit: "commits", abort: "aborts", open: "is still open at the end" }[outcome];
  return (
    <Section title={`Transaction T${number}`} isShown>
      <p class={`t${number % 8} said`}>
        <span class="tag">T{number}</span> {shown(id)} {ends}{isOlder ? ", began before the trace" : ""}
      </p>
      <span class="dim">begins</span><Go model={model} row={first} onChoose={onChoose} />
      <span class="dim">{outcome === "open" ? "last event" : "ends"}</span><Go model={model} row={last} onChoose={onChoose} />
    </Section>
  );
}

function Section({ title, isShown, children }: { title: string; isShown: boolean; children?: ComponentChildren }) {
  return isShown ? <section><h3>{title}</h3>{children}</section> : null;
}

function Go({ model, row, onChoose }: { model: Model; row: number; onChoose(row: number): void }) {
  const { rows } = model;
  return (
    <button type="button" class="go" onClick={() => onChoose(row)}>
      <b>#{rows.seq[row]}</b> {shown(rows.text[row].slice(0, 160))}
    </button>
  );
}

/** A list of structs in a message; what was cut of it is a text and no struct. */
function listOf(message: unknown, name: string): Record<string, unknown>[] {
  const found = (message as Record<string, unknown> | null | undefined)?.[name];
  return Array.isArray(found) ? found.filter((each) => each !== null && typeof each === "object") : [];
}

function rest(event: Event, without: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(event).filter(([name]) => name !== without && name !== "kind"));
}

/** The rows that each request caused. */
function changesOf({ rows }: Model): Map<number, number[]> {
  const found = new Map<number, number[]>();
  rows.request.forEach((request, row) => {
    if (request < 0 || rows.mark[row] === "a") return;
    const of = found.get(request);
    if (of) of.push(row);
    else found.set(request, [row]);
  });
  return found;
}

function useEvents(pieces: Pieces, rows: number[]): Event[] {
  const [events, setEvents] = useState<Event[]>([]);
  const key = rows.join();
  useEffect(() => {
    let isOld = false;
    void Promise.all(rows.map((each) => pieces.of(each))).then((found) => {
      if (!isOld) setEvents(found.flat());
    });
    return () => {
      isOld = true;
    };
  }, [key, pieces]);
  return events;
}
