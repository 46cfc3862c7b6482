// The page of a trace: reads the data in the page, and keeps what the reader has chosen.
import { render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import "../shared/theme.css";
import "./page.css";
import { shown } from "../shared/fields";
import { type LaneKind, type Model, Pieces, readModel, rowOf } from "../shared/model";
import { ThemeButton } from "../shared/theme";
import { Choices } from "./choices";
import { columnsOf, firstOpen, KINDS } from "./columns";
import { useDock } from "./dock";
import { Details } from "./details";
import { Head, rowsOfFindings } from "./head";
import { Help } from "./help";
import { isSetup, itemsOf } from "./items";
import { Search } from "./search";
import { TimeLine } from "./timeline";

function toggled<T>(set: ReadonlySet<T>, value: T): Set<T> {
  const found = new Set(set);
  if (!found.delete(value)) found.add(value);
  return found;
}

function rowOfAddress(model: Model): number {
  const found = /seq=(\d+)/.exec(location.hash);
  return found ? rowOf(model.rows, Number(found[1])) : -1;
}

function Page({ model, pieces, search }: { model: Model; pieces: Pieces; search: Search }) {
  const { rows, lanes } = model;
  const [chosen, setChosen] = useState(() => rowOfAddress(model));
  const [query, setQuery] = useState("");
  const [onlyFound, setOnlyFound] = useState(false);
  const [onlyTrouble, setOnlyTrouble] = useState(false);
  const [quiet, setQuiet] = useState(false);
  const [showsArcs, setShowsArcs] = useState(true);
  const [showsHelp, setShowsHelp] = useState(false);
  const [showsTools, setShowsTools] = useState(false);
  const [clients, setClients] = useState<ReadonlySet<string>>(new Set());
  const [apis, setApis] = useState<ReadonlySet<string>>(new Set());
  const [kept, setKept] = useState<ReadonlySet<number>>(() => new Set(model.named));
  const [open, setOpen] = useState<ReadonlySet<LaneKind>>(() => firstOpen(lanes, window.innerWidth * 0.4 - 148, kept));
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set());
  const input = useRef<HTMLInputElement>(null);

  const named = useMemo(() => rowsOfFindings(model), [model]);
  const found = useMemo(() => search.find(query), [search, query]);
  const foundSet = useMemo(() => (found ? new Set(found) : null), [found]);
  const matches = onlyFound ? foundSet : null;
  const items = useMemo(
    () => itemsOf(model, { clients, apis, onlyTrouble, matches, quiet, named, opened }),
    [model, clients, apis, onlyTrouble, matches, quiet, named, opened],
  );
  const columns = useMemo(() => columnsOf(lanes, { open, hidden, kept }), [lanes, open, hidden, kept]);
  const [isBelow, moveEvent] = useDock(columns.width);
  const names = useMemo(() => ({
    clients: [...new Set(rows.client)].filter(Boolean).sort(), apis: [...new Set(rows.api)].filter(Boolean).sort(),
  }), [model]);
  const troubles = useMemo(
    () => rows.mark.flatMap((mark, row) => (mark === "f" || rows.error[row] ? [row] : [])), [model],
  );

  // What explains a failure is in view first; without a finding, its end.
  const begin = useMemo(() => {
    const finding = model.findings?.find((each) => each[2]) ?? model.findings?.[0];
    if (finding) return rowOf(rows, finding[0]);
    return model.failure ? rows.seq.length - 1 : -1;
  }, [model]);

  const choose = (row: number) => {
    setChosen(row);
    history.replaceState(null, "", row < 0 ? "#" : `#seq=${rows.seq[row]}`);
  };
  const step = (list: number[], by: 1 | -1) => {
    if (list.length === 0) return;
    const next = by > 0 ? list.find((row) => row > chosen) : list.findLast((row) => row < chosen);
    choose(next ?? (by > 0 ? list[0] : list[list.length - 1]));
  };
  const unfold = (row: number) => setOpened((before) => (before.has(row) ? before : new Set(before).add(row)));
  useLayoutEffect(() => {
    if (chosen >= 0 && isSetup(model, chosen)) unfold(chosen);
  }, [model, chosen]);
  useEffect(() => {
    const follow = () => setChosen(rowOfAddress(model));
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, [model]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
      if (event.key === "Escape") {
        if (showsHelp) setShowsHelp(false);
        else if (isTyping) (event.target as HTMLElement).blur();
        else choose(-1);
        return;
      }
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const acts: Record<string, () => void> = {
        "/": () => input.current!.focus(), n: () => step(found ?? [], 1), N: () => step(found ?? [], -1),
        e: () => step(troubles, 1), E: () => step(troubles, -1), "?": () => setShowsHelp(!showsHelp),
      };
      const act = acts[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  });

  return (
    <div class="page">
      <header>
        <h1>{shown(model.title.slice(0, 300))}</h1>
        <span class="dim">{told(model, items.count)}</span>
        <span class="space" />
        <ThemeButton />
        <button type="button" aria-expanded={showsHelp} onClick={() => setShowsHelp(!showsHelp)}>Help (?)</button>
      </header>
      <Head model={model} />
      {model.left_out > 0 && (
        <p class="note" role="note">
          The trace has {model.total.toLocaleString("en")} events. This page shows the last{" "}
          {(model.total - model.left_out).toLocaleString("en")}; the file of the trace has all of them.
        </p>
      )}
      <div class={showsTools ? "tools open" : "tools"} role="toolbar" aria-label="Search and filter">
        <form role="search" onSubmit={(event) => { event.preventDefault(); step(found ?? [], 1); }}>
          <input
            ref={input} type="search" value={query} aria-label="Search events" size={28}
            placeholder="Search: words, error:, offset: …" onInput={(event) => setQuery(event.currentTarget.value)}
          />
          <span class="dim count" role="status">{found ? `${found.length.toLocaleString("en")} found` : ""}</span>
          <button type="button" disabled={!found?.length} aria-label="Previous found event" onClick={() => step(found ?? [], -1)}>↑</button>
          <button type="submit" disabled={!found?.length} aria-label="Next found event">↓</button>
        </form>
        <button type="button" class="more" aria-expanded={showsTools} onClick={() => setShowsTools(!showsTools)}>
          Filters and lanes ▾
        </button>
        <Toggle isOn={onlyFound} onClick={() => setOnlyFound(!onlyFound)}>Only found</Toggle>
        <Toggle isOn={onlyTrouble} onClick={() => setOnlyTrouble(!onlyTrouble)}>Errors and faults ({troubles.length})</Toggle>
        <Toggle isOn={quiet} onClick={() => { setQuiet(!quiet); setOpened(new Set()); }}>Connections and more</Toggle>
        <Toggle isOn={showsArcs} onClick={() => setShowsArcs(!showsArcs)}>Arcs</Toggle>
        <Choices
          label={clients.size ? `Clients: ${clients.size}` : "All clients"}
          options={names.clients.map((each) => ({ key: each, label: each, isChosen: clients.has(each) }))}
          onToggle={(key) => setClients(toggled(clients, String(key)))} onAll={(all) => setClients(new Set(all ? names.clients : []))}
        />
        <Choices
          label={apis.size ? `APIs: ${apis.size}` : "All APIs"}
          options={names.apis.map((each) => ({ key: each, label: each, isChosen: apis.has(each) }))}
          onToggle={(key) => setApis(toggled(apis, String(key)))} onAll={(all) => setApis(new Set(all ? names.apis : []))}
        />
        <span class="kinds" role="group" aria-label="Lanes">
          {KINDS.filter(({ kind }) => lanes.some((each) => each[0] === kind)).map(({ kind, many }) => (
            <Toggle
              key={kind} isOn={open.has(kind) || (lanes.some(([each], lane) => each === kind && kept.has(lane)) && "mixed")}
              onClick={() => { setOpen(toggled(open, kind)); setKept(new Set([...kept].filter((lane) => lanes[lane][0] !== kind))); }}
            >
              {many}
            </Toggle>
          ))}
        </span>
        <Choices
          label={`Lanes: ${lanes.length - hidden.size} of ${lanes.length}`}
          options={lanes.map(([kind, name], key) => ({ key, label: `${kind} ${name}`, isChosen: !hidden.has(key) }))}
          onToggle={(key) => setHidden(toggled(hidden, Number(key)))} onAll={(all) => setHidden(new Set(all ? [] : lanes.keys()))}
        />
      </div>
      <main class={isBelow ? "below" : ""}>
        {items.count === 0 && <p class="empty">No event is shown. Change the filters above.</p>}
        <TimeLine {...{ model, items, columns, chosen, begin, showsArcs, named }} found={foundSet} onChoose={choose} onUnfold={unfold} />
        {chosen >= 0 && <Details {...{ model, pieces, isBelow }} row={chosen} onChoose={choose} onMove={moveEvent} onClose={() => choose(-1)} />}
      </main>
      {showsHelp && <Help onClose={() => setShowsHelp(false)} />}
    </div>
  );
}

function Toggle({ isOn, onClick, children }: { isOn: boolean | "mixed"; onClick(): void; children: preact.ComponentChildren }) {
  return <button type="button" aria-pressed={isOn} onClick={onClick}>{children}</button>;
}

function told(model: Model, lines: number): string {
  const { rows, transactions } = model;
  const count = (number: number, one: string) => `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`;
  const parts = [count(model.total, "event"), count(lines, "line")];
  if (transactions.length) parts.push(count(transactions.length, "transaction"));
  return rows.seq.length ? parts.join(" · ") : "an empty trace";
}

void readModel().then((model) => {
  const page = <Page model={model} pieces={new Pieces(model.rows)} search={new Search(model)} />;
  render(page, document.getElementById("page")!);
}).catch((failed: unknown) => {
  document.getElementById("page")!.textContent = `The data of this page cannot be read: ${String(failed)}`;
});
