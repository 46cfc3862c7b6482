// The records of a partition, paged from both ends, with their fates and the markers between them.
import { useState } from "preact/hooks";
import { pathOf, send, useAnswer } from "./asking";
import { Answer, Facts, Failed, hash, Mark, ON_PAGE, Producer, Table, Time, type Tone } from "./parts";
import { Why } from "./why";
import { bytesOf, type Content, count, hexOf, isText, jsonOf, preview, shown, shownLines, size, textOf } from "./text";

interface Row {
  offset: number;
  kind: "record" | "marker" | "control" | "broken";
  timestamp_ms: number;
  producer_id: number;
  producer_epoch: number;
  fate: string | null;
  commits?: boolean | null;
  error?: string;
  key?: Content | null;
  value?: Content | null;
  headers?: { name: string; value: Content | null }[];
  header_count?: number;
}

interface Page {
  rows: Row[];
  older: number | null;
  newer: number;
  log_start: number;
  last_stable_offset: number;
  high_watermark: number;
}

const TONES: Record<string, Tone> = {
  plain: "quiet",
  committed: "good",
  aborted: "bad",
  open: "waits",
};

export function Records({ topic, partition }: { topic: string; partition: number }) {
  const [from, setFrom] = useState<{ start?: number; before?: number }>({});
  const [opened, setOpened] = useState<number | null>(null);
  const [wanted, setWanted] = useState("");
  const isNewest = from.start === undefined && from.before === undefined;
  const path = pathOf("/browse/records", { topic, partition, ...from, size: ON_PAGE });
  const asked = useAnswer<Page>(path, isNewest);
  const go = (to: { start?: number; before?: number }) => {
    setOpened(null);
    setFrom(to);
  };
  const jump = (event: Event) => {
    event.preventDefault();
    if (/^[0-9]{1,18}$/.test(wanted)) go({ start: Number(wanted) });
  };
  return (
    <>
      <h1>
        Records of <a href={hash("topic", topic)}>{shown(topic)}</a>, partition {partition}
      </h1>
      <form class="jump" onSubmit={jump}>
        <label>
          Offset
          <input
            inputMode="numeric"
            value={wanted}
            onInput={(event) => setWanted((event.target as HTMLInputElement).value)}
          />
        </label>
        <button>Go</button>
      </form>
      <Answer asked={asked}>
        {(page) => (
          <>
            <Facts
              facts={[
                ["log start", count(page.log_start)],
                ["last stable offset", count(page.last_stable_offset)],
                ["high watermark", count(page.high_watermark)],
              ]}
            />
            <Why about={{ topic, partition }} />
            <nav class="pages" aria-label="Pages">
              <button disabled={page.older === null} onClick={() => go({ start: page.log_start })}>Oldest</button>
              <button disabled={page.older === null} onClick={() => go({ before: page.older ?? 0 })}>Older</button>
              <button disabled={isNewest || page.newer >= page.high_watermark} onClick={() => go({ start: page.newer })}>
                Newer
              </button>
              <button disabled={isNewest} onClick={() => go({})}>Newest</button>
            </nav>
            <Table
              caption={isNewest ? "The newest records, followed live" : "Records"}
              empty="No records here."
              rows={page.rows}
              keyOf={(each) => each.offset}
              columns={[
                {
                  name: "offset",
                  isNumber: true,
                  cell: (each) =>
                    each.kind === "record" ? (
                      <button
                        class="link"
                        aria-expanded={opened === each.offset}
                        aria-label={`Record ${each.offset}`}
                        onClick={() => setOpened(opened === each.offset ? null : each.offset)}
                      >
                        {each.offset}
                      </button>
                    ) : (
                      each.offset
                    ),
                },
                { name: "time (UTC)", cell: (each) => <Time ms={each.timestamp_ms} /> },
                { name: "fate", cell: fateOf },
                {
                  name: "producer",
                  cell: (each) => <Producer id={each.producer_id} epoch={each.producer_epoch} />,
                },
                { name: "key", cell: (each) => contentOf(each, each.key) },
                { name: "value", cell: (each) => contentOf(each, each.value) },
                { name: "headers", cell: (each) => each.header_count || "", isNumber: true },
              ]}
              detail={(each) =>
                opened === each.offset && <Whole topic={topic} partition={partition} row={each} />
              }
            />
          </>
        )}
      </Answer>
    </>
  );
}

function fateOf(row: Row) {
  if (row.kind === "marker") {
    return <Mark tone={row.commits ? "good" : "bad"}>{row.commits ? "commit marker" : "abort marker"}</Mark>;
  }
  if (row.kind === "control") return <Mark tone="quiet">control record</Mark>;
  if (row.kind === "broken") return <Mark tone="bad">unreadable: {shown(row.error)}</Mark>;
  if (row.fate === null) return <Mark tone="waits">unknown: its marker is far</Mark>;
  return <Mark tone={TONES[row.fate] ?? "quiet"}>{row.fate}</Mark>;
}

function contentOf(row: Row, content: Content | null | undefined) {
  if (row.kind !== "record" || content === undefined) return "";
  if (content === null) return <span class="null">null</span>;
  return (
    <span class="content">
      {preview(content)} <span class="size">{size(content.size_bytes)}</span>
    </span>
  );
}

function Whole({ topic, partition, row }: { topic: string; partition: number; row: Row }) {
  const [whole, setWhole] = useState<Row | null>(null);
  const [error, setError] = useState("");
  const shownRow = whole ?? row;
  const isCut = [row.key, row.value].some(isPart);
  const isLong = [shownRow.key, shownRow.value, ...(shownRow.headers ?? []).map((each) => each.value)].some(isPart);
  const load = async () => {
    try {
      setWhole(await send<Row>("GET", pathOf("/browse/record", { topic, partition, offset: row.offset })));
    } catch (failed) {
      setError(String((failed as Error).message));
    }
  };
  return (
    <div class="record">
      {isCut && !whole && <button onClick={load}>Load the whole record</button>}
      {isLong && (whole || !isCut) && <p class="hint">It is long: of some contents only the beginning is shown.</p>}
      <Failed text={error} />
      <Viewer name="Key" content={shownRow.key ?? null} />
      <Viewer name="Value" content={shownRow.value ?? null} />
      {(shownRow.headers ?? []).map((each, at) => (
        <Viewer key={at} name={`Header ${shown(each.name, 100)}`} content={each.value} />
      ))}
    </div>
  );
}

/** Whether only the beginning of a content is there. */
function isPart(content: Content | null | undefined): boolean {
  return !!content && bytesOf(content).length < content.size_bytes;
}

function Viewer({ name, content }: { name: string; content: Content | null }) {
  const json = content && jsonOf(content);
  const usual = content && !isText(content) ? "hex" : json ? "JSON" : "text";
  const [chosen, setChosen] = useState<string | null>(null);
  if (content === null) {
    return (
      <section>
        <h3>{name}</h3>
        <p class="null">null</p>
      </section>
    );
  }
  const form = chosen ?? usual;
  const forms = json ? ["text", "JSON", "hex"] : ["text", "hex"];
  const text = form === "hex" ? hexOf(content) : form === "JSON" && json ? json : textOf(content);
  return (
    <section>
      <h3>
        {name} <span class="size">{size(content.size_bytes)}</span>
      </h3>
      <div class="forms" role="group" aria-label={`${name} as`}>
        {forms.map((each) => (
          <button key={each} aria-pressed={each === form} onClick={() => setChosen(each)}>{each}</button>
        ))}
      </div>
      <pre tabIndex={0} aria-label={`${name} as ${form}`}>{shownLines(text)}</pre>
    </section>
  );
}
