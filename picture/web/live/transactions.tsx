// Transactions of all coordinators, and the button that aborts one.
import { useState } from "preact/hooks";
import { pathOf, send, useAnswer } from "./asking";
import { Answer, hash, Mark, ON_PAGE, Pages, Producer, Search, Sure, Table, Time, type Tone } from "./parts";
import { count, duration, several, shown } from "./text";
import type { Rows } from "./topics";

interface Transaction {
  transactional_id: string;
  state: string;
  producer_id: number;
  producer_epoch?: number;
  coordinator: number;
  timeout_ms?: number;
  started_ms?: number | null;
  age_ms?: number | null;
  left_ms?: number | null;
  partitions?: string[];
  may_abort?: boolean;
}

const SHOWN_PARTITIONS = 10;

export function Transactions({ mayChange }: { mayChange: boolean }) {
  const [search, setSearch] = useState("");
  const [first, setFirst] = useState(0);
  const asked = useAnswer<Rows<Transaction> & { open: number }>(
    pathOf("/browse/transactions", { search, first, size: ON_PAGE }),
  );
  const abort = async (id: string) => {
    await send("POST", "/browse/transactions/abort", { transactional_id: id });
    asked.again();
  };
  return (
    <>
      <h1>Transactions</h1>
      <Search label="Search" value={search} set={(text) => { setSearch(text); setFirst(0); }} />
      <Answer asked={asked}>
        {({ total, open, rows, problems }) => (
          <>
            <Problems found={problems} />
            <Table
              caption={`${several(total, "transactional id", "transactional ids")}, ${count(open)} with a transaction under way`}
              empty="No transactional ids."
              rows={rows}
              keyOf={(each) => each.transactional_id}
              columns={[
                { name: "transactional id", cell: (each) => shown(each.transactional_id) },
                { name: "state", cell: (each) => <Mark tone={toneOf(each.state)}>{shown(each.state)}</Mark> },
                {
                  name: "age",
                  cell: (each) => (each.age_ms == null ? "-" : duration(each.age_ms)),
                  isNumber: true,
                },
                { name: "time left", cell: leftOf, isNumber: true },
                {
                  name: "producer",
                  cell: (each) =>
                    <Producer id={each.producer_id} epoch={each.producer_epoch} />,
                },
                { name: "node", cell: (each) => each.coordinator, isNumber: true },
                { name: "started (UTC)", cell: (each) => <Time ms={each.started_ms ?? -1} /> },
                { name: "partitions", cell: (each) => <Places names={each.partitions ?? []} /> },
                ...(mayChange
                  ? [{
                      name: "abort",
                      cell: (each: Transaction) =>
                        each.may_abort ? (
                          <Sure label="Abort" about={shown(each.transactional_id)}
                            act={() => abort(each.transactional_id)} />
                        ) : (
                          ""
                        ),
                    }]
                  : []),
              ]}
            />
            <Pages first={first} total={total} go={setFirst} />
          </>
        )}
      </Answer>
    </>
  );
}

export function Problems({ found }: { found?: string[] }) {
  if (!found?.length) return null;
  return <ul class="failed" role="alert">{found.map((each) => <li key={each}>{shown(each)}</li>)}</ul>;
}

function toneOf(state: string): Tone {
  if (state === "Ongoing" || state.startsWith("Prepare")) return "waits";
  return state === "CompleteCommit" ? "good" : state === "CompleteAbort" ? "bad" : "quiet";
}

function leftOf(each: Transaction) {
  if (each.left_ms == null) return "-";
  return each.left_ms < 0 ? <Mark tone="bad">over since {duration(-each.left_ms)}</Mark> : duration(each.left_ms);
}

export function Places({ names }: { names: string[] }) {
  const links = names.slice(0, SHOWN_PARTITIONS).map((name) => {
    const cut = name.lastIndexOf("-");
    return (
      <span key={name}>
        <a href={hash("records", name.slice(0, cut), name.slice(cut + 1))}>{shown(name)}</a>{" "}
      </span>
    );
  });
  const rest = names.length - links.length;
  return <span class="places">{links.length ? links : "-"}{rest > 0 && `and ${count(rest)} more`}</span>;
}
