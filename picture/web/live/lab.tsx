// What only a broker with a control has: faults, the clock, the time line of the trace.
import { useEffect, useRef, useState } from "preact/hooks";
import { pathOf, send, useAnswer } from "./asking";
import { Answer, Failed, Sure, Table, Time } from "./parts";
import { count, duration, shown, time } from "./text";

interface Rule {
  id: number;
  name: string;
  added_by?: string;
  match: Record<string, unknown>;
  action: Record<string, unknown>;
  matched: number;
  fired: number;
  held: number;
}

const EXAMPLES: [string, object][] = [
  ["Delay each Fetch by 200 ms", { match: { api: "Fetch" }, action: { kind: "delay", ms: 200 } }],
  ["Lose the answer to the first EndTxn", { match: { api: "EndTxn", nth: 1 }, action: { kind: "drop_answer", close: true } }],
  ["Hold each Produce", { match: { api: "Produce" }, action: { kind: "hold" } }],
  [
    "Refuse each OffsetCommit",
    { match: { api: "OffsetCommit" }, action: { kind: "error", code: "COORDINATOR_NOT_AVAILABLE" } },
  ],
];

export function Faults() {
  const asked = useAnswer<Rule[]>("/faults");
  const [text, setText] = useState(JSON.stringify(EXAMPLES[0][1], null, 2));
  const [error, setError] = useState("");
  const [said, setSaid] = useState("");
  const add = async (event: Event) => {
    event.preventDefault();
    setError("");
    setSaid("");
    try {
      const rule = { added_by: "the live page", ...JSON.parse(text) };
      const added = await send<{ id: number; warnings?: string[] }>("POST", "/faults", rule);
      setSaid([`Rule ${added.id} is added.`, ...(added.warnings ?? [])].join(" "));
      asked.again();
    } catch (failed) {
      const isJson = !(failed instanceof SyntaxError);
      setError(isJson ? String((failed as Error).message) : "The rule is no JSON.");
    }
  };
  const act = (method: string, path: string) => async () => {
    await send(method, path);
    asked.again();
  };
  return (
    <>
      <h1>Faults</h1>
      <Answer asked={asked}>
        {(rules) => (
          <Table
            caption="Rules"
            empty="No rules: nothing is disturbed."
            rows={rules}
            keyOf={(each) => each.id}
            columns={[
              { name: "id", cell: (each) => each.id, isNumber: true },
              { name: "name", cell: (each) => shown(each.name || "-") },
              { name: "added by", cell: (each) => shown(each.added_by || "-") },
              { name: "match", cell: (each) => fields(each.match) || "all requests" },
              { name: "action", cell: (each) => fields(each.action) },
              { name: "matched", cell: (each) => count(each.matched), isNumber: true },
              { name: "fired", cell: (each) => count(each.fired), isNumber: true },
              { name: "held", cell: (each) => count(each.held), isNumber: true },
              {
                name: "change",
                cell: (each) => (
                  <>
                    <Sure label="Remove" about={`rule ${each.id}`} act={act("DELETE", `/faults/${each.id}`)} />{" "}
                    {each.held > 0 && (
                      <Sure label="Release" about={`rule ${each.id}`} act={act("POST", `/faults/${each.id}/release`)} />
                    )}
                  </>
                ),
              },
            ]}
          />
        )}
      </Answer>
      <form class="rule" onSubmit={add}>
        <h2>Add a rule</h2>
        <label>
          Example
          <select
            onChange={(event) => {
              const chosen = EXAMPLES[(event.target as HTMLSelectElement).selectedIndex];
              setText(JSON.stringify(chosen[1], null, 2));
            }}
          >
            {EXAMPLES.map(([name]) => <option key={name}>{name}</option>)}
          </select>
        </label>
        <label>
          Rule, in JSON
          <textarea
            rows={10}
            spellcheck={false}
            value={text}
            onInput={(event) => setText((event.target as HTMLTextAreaElement).value)}
          />
        </label>
        <button>Add</button>
        <Failed text={error} />
        <p role="status">{shown(said, 1000)}</p>
      </form>
    </>
  );
}

function fields(values: Record<string, unknown>): string {
  const texts = Object.entries(values).map(([name, value]) =>
    `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return shown(texts.join(", "));
}

const UNITS: [string, number][] = [["milliseconds", 1], ["seconds", 1000], ["minutes", 60_000], ["hours", 3_600_000]];

export function Clock() {
  const asked = useAnswer<{ now_ms: number }>("/clock");
  const [amount, setAmount] = useState("15");
  const [unit, setUnit] = useState(2);
  const [error, setError] = useState("");
  const [said, setSaid] = useState("");
  const advance = async (ms: number) => {
    setError("");
    setSaid("");
    try {
      await send("POST", "/clock/advance", { ms });
      setSaid(`${duration(ms)} have passed.`);
      asked.again();
    } catch (failed) {
      setError(String((failed as Error).message));
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const ms = Math.round(Number(amount) * UNITS[unit][1]);
    if (ms > 0) void advance(ms);
    else setError("A number above 0 was expected.");
  };
  return (
    <>
      <h1>Clock</h1>
      <Answer asked={asked}>{({ now_ms }) => <p class="clock">{time(now_ms)} UTC</p>}</Answer>
      <form class="jump" onSubmit={submit}>
        <label>
          Let pass
          <input inputMode="decimal" value={amount}
            onInput={(event) => setAmount((event.target as HTMLInputElement).value)} />
        </label>
        <label>
          Unit
          <select onChange={(event) => setUnit((event.target as HTMLSelectElement).selectedIndex)}>
            {UNITS.map(([name], at) => <option key={name} selected={at === unit}>{name}</option>)}
          </select>
        </label>
        <button>Advance</button>
      </form>
      <Failed text={error} />
      <p role="status">{said}</p>
      <p class="hint">Time is moved by hand with <code>ottla serve --clock manual</code> alone.</p>
    </>
  );
}

type Line = { seq: number; at_ms: number; kind: string; cause?: number } & Record<string, unknown>;

const MOST_LINES = 2000;
const AT_ONCE = 500;
const HEAD = new Set(["seq", "at_ms", "kind", "cause", "api", "client_id"]);

export function TimeLine() {
  const state = useAnswer<{ now_ms: number }>("/clock", false);
  const [lines, setLines] = useState<Line[]>([]);
  const [filter, setFilter] = useState("");
  const [error, setError] = useState("");
  const next = useRef(0);
  const [path, setPath] = useState<string | null>(pathOf("/trace", { limit: AT_ONCE }));
  const asked = useAnswer<{ events: Line[]; next: number }>(path);
  useEffect(() => {
    if (!asked.answer || asked.answer.next < next.current) return;
    const { events } = asked.answer;
    const fresh = events.filter((each) => each.seq > next.current);
    next.current = asked.answer.next;
    if (fresh.length) setLines((before) => [...before, ...fresh].slice(-MOST_LINES));
    if (events.length) setPath(pathOf("/trace", { after: next.current, limit: AT_ONCE }));
  }, [asked.answer]);
  const turn = async (on: boolean) => {
    setError("");
    try {
      await send("POST", "/trace", { on });
      asked.again();
    } catch (failed) {
      setError(String((failed as Error).message));
    }
  };
  const wanted = filter.toLowerCase();
  const rows = lines
    .filter((each) => !wanted || JSON.stringify(each).toLowerCase().includes(wanted))
    .slice(-100)
    .reverse();
  const isOff = asked.error?.includes("never on");
  return (
    <>
      <h1>Time line</h1>
      <p class="buttons">
        <button onClick={() => turn(true)}>Switch the trace on</button>{" "}
        <button onClick={() => turn(false)}>Switch it off</button>
      </p>
      <Failed text={error || state.error || (isOff ? "" : asked.error)} />
      {isOff && <p>The trace is off.</p>}
      <label class="search">
        Filter
        <input type="search" value={filter} onInput={(event) => setFilter((event.target as HTMLInputElement).value)} />
      </label>
      <Table
        caption={`The newest ${count(rows.length)} of ${count(lines.length)} events`}
        empty="No events yet."
        rows={rows}
        keyOf={(each) => each.seq}
        columns={[
          { name: "number", cell: (each) => each.seq, isNumber: true },
          { name: "time (UTC)", cell: (each) => <Time ms={each.at_ms} /> },
          { name: "event", cell: (each) => <span class="one-line">{shown(each.kind)}</span> },
          { name: "API", cell: (each) => <span class="one-line">{shown(each.api ?? "")}</span> },
          { name: "client", cell: (each) => shown(each.client_id ?? "") },
          { name: "of request", cell: (each) => each.cause || "", isNumber: true },
          { name: "what", cell: (each) => <span class="what">{what(each)}</span> },
        ]}
      />
    </>
  );
}

function what(line: Line): string {
  const texts = Object.entries(line)
    .filter(([name, value]) => !HEAD.has(name) && value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`);
  return shown(texts.join(" "), 160);
}
