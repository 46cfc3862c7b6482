// Groups of all kinds, and one with its members and its lag in records.
import { useState } from "preact/hooks";
import { pathOf, useAnswer } from "./asking";
import { Answer, Facts, hash, Mark, ON_PAGE, Pages, Search, Table, type Tone } from "./parts";
import { count, several, shown } from "./text";
import type { Rows } from "./topics";
import { Places, Problems } from "./transactions";
import { Why } from "./why";

interface Listed {
  group_id: string;
  kind: string;
  state: string;
  coordinator: number;
}

interface Member {
  member_id: string;
  instance_id: string | null;
  client_id: string;
  host: string;
  epoch: number | null;
  assigned: string[];
  assigned_count: number;
  target: string[];
  target_count: number;
}

interface Lag {
  offsets: number;
  committed: number;
  uncommitted: number;
  aborted: number;
  open: number;
  markers: number;
  uncounted: number;
  lost: number;
  error: string;
}

interface Place {
  topic: string;
  partition: number;
  next_offset: number | null;
  members: string[];
  high_watermark: number | null;
  last_stable_offset: number | null;
  error: string;
  lag: Lag | null;
  brokers_lag?: number | null;
}

interface Group {
  group_id: string;
  kind: string;
  state: string;
  assignor: string;
  coordinator: number;
  group_epoch: number | null;
  target_epoch: number | null;
  member_count: number;
  members: Member[];
  partition_count: number;
  partitions: Place[];
}

export function Groups() {
  const [search, setSearch] = useState("");
  const [first, setFirst] = useState(0);
  const asked = useAnswer<Rows<Listed>>(pathOf("/browse/groups", { search, first, size: ON_PAGE }));
  return (
    <>
      <h1>Groups</h1>
      <Search label="Search" value={search} set={(text) => { setSearch(text); setFirst(0); }} />
      <Answer asked={asked}>
        {({ total, rows, problems }) => (
          <>
            <Problems found={problems} />
            <Table
              caption={several(total, "group", "groups")}
              empty="No groups."
              rows={rows}
              keyOf={(each) => each.group_id}
              columns={[
                { name: "group", cell: (each) => <a href={hash("group", each.group_id)}>{shown(each.group_id)}</a> },
                { name: "kind", cell: (each) => shown(each.kind) },
                { name: "state", cell: (each) => <State state={each.state} /> },
                { name: "node", cell: (each) => each.coordinator, isNumber: true },
              ]}
            />
            <Pages first={first} total={total} go={setFirst} />
          </>
        )}
      </Answer>
    </>
  );
}

function State({ state }: { state: string }) {
  const name = state.toLowerCase().replaceAll("_", "");
  let tone: Tone = "quiet";
  if (name === "stable") tone = "good";
  else if (/rebalance|assigning|reconciling|notready/.test(name)) tone = "waits";
  else if (name === "dead") tone = "bad";
  return <Mark tone={tone}>{shown(state)}</Mark>;
}

export function GroupView({ id }: { id: string }) {
  const [first, setFirst] = useState(0);
  const asked = useAnswer<Group>(pathOf("/browse/group", { group: id, first, size: ON_PAGE }));
  return (
    <>
      <h1>Group {shown(id)}</h1>
      <Answer asked={asked}>
        {(group) => (
          <>
            <Facts
              facts={[
                ["kind", shown(group.kind)],
                ["state", <State state={group.state} />],
                ["assignor", shown(group.assignor || "-")],
                ["coordinator", `node ${group.coordinator}`],
                ...(group.group_epoch === null
                  ? []
                  : ([["epoch", `${group.group_epoch}, assigned for ${group.target_epoch}`]] as [string, string][])),
              ]}
            />
            <Why about={{ group: id }} />
            <Lags group={group} />
            <Pages first={first} total={group.partition_count} go={setFirst} />
            <Table
              caption={several(group.member_count, "member", "members")}
              empty="No members."
              rows={group.members}
              keyOf={(each) => each.member_id}
              columns={[
                { name: "member", cell: (each) => shown(each.member_id) },
                { name: "static id", cell: (each) => shown(each.instance_id ?? "-") },
                { name: "client", cell: (each) => shown(each.client_id) },
                { name: "host", cell: (each) => shown(each.host) },
                { name: "epoch", cell: (each) => each.epoch ?? "-", isNumber: true },
                { name: "has", cell: (each) => <Places names={each.assigned} /> },
                {
                  name: "is to have",
                  cell: (each) =>
                    each.target.join() === each.assigned.join() ? (
                      "the same"
                    ) : (
                      <Mark tone="waits"><Places names={each.target} /></Mark>
                    ),
                },
              ]}
            />
          </>
        )}
      </Answer>
    </>
  );
}

function Lags({ group }: { group: Group }) {
  const hasOwn = group.partitions.some((each) => each.brokers_lag !== undefined);
  return (
    <Table
      caption="Lag in records that a reader would get"
      empty="No partitions."
      rows={group.partitions}
      keyOf={(each) => `${each.topic}-${each.partition}`}
      columns={[
        {
          name: "partition",
          cell: (each) => (
            <a href={hash("records", each.topic, each.partition)}>{shown(`${each.topic}-${each.partition}`)}</a>
          ),
        },
        {
          name: "next offset",
          cell: (each) => (each.next_offset === null ? "none" : count(each.next_offset)),
          isNumber: true,
        },
        { name: "read_committed", cell: (each) => records(each.lag, "committed"), isNumber: true },
        { name: "read_uncommitted", cell: (each) => records(each.lag, "uncommitted"), isNumber: true },
        { name: "offsets to the end", cell: (each) => (each.lag ? count(each.lag.offsets) : "-"), isNumber: true },
        { name: "not counted", cell: (each) => <NotCounted place={each} /> },
        ...(hasOwn
          ? [{
              name: "by the broker",
              cell: (each: Place) => (each.brokers_lag == null ? "-" : count(each.brokers_lag)),
              isNumber: true,
            }]
          : []),
        { name: "member", cell: (each) => each.members.map((name) => shown(name)).join(", ") || "-" },
      ]}
    />
  );
}

function records(lag: Lag | null, of: "committed" | "uncommitted") {
  if (lag === null) return "-";
  return lag.uncounted ? `at least ${count(lag[of])}` : count(lag[of]);
}

function NotCounted({ place }: { place: Place }) {
  const { lag } = place;
  if (place.error) return <Mark tone="bad">{shown(place.error)}</Mark>;
  if (lag === null) return <>-</>;
  if (lag.error) return <Mark tone="bad">{shown(lag.error)}</Mark>;
  const found = [];
  if (lag.markers) found.push(several(lag.markers, "marker", "markers"));
  if (lag.aborted) found.push(`${count(lag.aborted)} aborted`);
  if (lag.open) found.push(`${count(lag.open)} open`);
  if (lag.lost) found.push(`${count(lag.lost)} deleted`);
  if (lag.uncounted) found.push(`${count(lag.uncounted)} offsets not looked at`);
  return <>{found.join(", ") || "-"}</>;
}
