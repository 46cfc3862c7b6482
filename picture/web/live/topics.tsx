// The cluster, its topics, and the partitions of one.
import { useState } from "preact/hooks";
import { pathOf, useAnswer } from "./asking";
import { Answer, Facts, hash, Mark, ON_PAGE, Pages, Search, Table } from "./parts";
import { count, several, shown } from "./text";
import { Why } from "./why";

export interface Cluster {
  cluster_id: string;
  nodes: Node[];
  topics: number;
  partitions: number;
  without_leader: number;
  under_replicated: number;
  may_change: boolean;
  has_lab: boolean;
  now_ms: number;
}

interface Node {
  node_id: number;
  host: string;
  port: number;
  rack: string | null;
  is_controller: boolean;
  leads: number;
}

interface Topic {
  name: string;
  is_internal: boolean;
  error: string;
  partitions: number;
  without_leader: number;
  under_replicated: number;
  offsets: number | null;
  unstable: number;
}

interface Partition {
  partition: number;
  leader: number | null;
  leader_epoch: number;
  replicas: number[];
  in_sync: number[];
  log_start: number | null;
  last_stable_offset: number | null;
  high_watermark: number | null;
  error: string;
}

export interface Rows<Row> {
  total: number;
  rows: Row[];
  problems?: string[];
}

export function Overview({ cluster }: { cluster: Cluster }) {
  return (
    <>
      <h1>Cluster</h1>
      <Facts
        facts={[
          ["id", shown(cluster.cluster_id)],
          ["topics", <a href={hash("topics")}>{count(cluster.topics)}</a>],
          ["partitions", count(cluster.partitions)],
          ["without a leader", warned(cluster.without_leader)],
          ["with replicas out of sync", warned(cluster.under_replicated)],
        ]}
      />
      <Why about={{}} />
      <Table
        caption="Nodes"
        rows={cluster.nodes}
        keyOf={(each) => each.node_id}
        columns={[
          { name: "node", cell: (each) => each.node_id, isNumber: true },
          { name: "address", cell: (each) => shown(`${each.host}:${each.port}`) },
          { name: "rack", cell: (each) => shown(each.rack ?? "-") },
          { name: "leads", cell: (each) => count(each.leads), isNumber: true },
          { name: "role", cell: (each) => (each.is_controller ? "broker, controller" : "broker") },
        ]}
      />
    </>
  );
}

function warned(number: number) {
  return number ? <Mark tone="bad">{count(number)}</Mark> : "0";
}

export function Topics() {
  const [search, setSearch] = useState("");
  const [first, setFirst] = useState(0);
  const asked = useAnswer<Rows<Topic>>(pathOf("/browse/topics", { search, first, size: ON_PAGE }));
  return (
    <>
      <h1>Topics</h1>
      <Search label="Search" value={search} set={(text) => { setSearch(text); setFirst(0); }} />
      <Answer asked={asked}>
        {({ total, rows }) => (
          <>
            <Table
              caption={several(total, "topic", "topics")}
              rows={rows}
              keyOf={(each) => each.name}
              columns={[
                { name: "topic", cell: (each) => <a href={hash("topic", each.name)}>{shown(each.name)}</a> },
                { name: "partitions", cell: (each) => count(each.partitions), isNumber: true },
                {
                  name: "offsets",
                  cell: (each) => (each.offsets === null ? "…" : count(each.offsets)),
                  isNumber: true,
                },
                { name: "state", cell: stateOf },
              ]}
            />
            <Pages first={first} total={total} go={setFirst} />
          </>
        )}
      </Answer>
    </>
  );
}

function stateOf(topic: Topic) {
  const found = [];
  if (topic.error) found.push(<Mark tone="bad">{shown(topic.error)}</Mark>);
  if (topic.without_leader) {
    found.push(<Mark tone="bad">{count(topic.without_leader)} without a leader</Mark>);
  }
  if (topic.under_replicated) {
    found.push(<Mark tone="bad">{count(topic.under_replicated)} with replicas out of sync</Mark>);
  }
  if (topic.unstable) {
    found.push(<Mark tone="waits">{count(topic.unstable)} with open transactions</Mark>);
  }
  if (topic.is_internal) found.push(<Mark tone="quiet">internal</Mark>);
  return found.length ? found.map((each, at) => <span key={at}>{each} </span>) : <Mark tone="good">fine</Mark>;
}

export function TopicView({ name }: { name: string }) {
  const [first, setFirst] = useState(0);
  const asked = useAnswer<Rows<Partition> & { topic_id: string }>(
    pathOf("/browse/partitions", { topic: name, first, size: ON_PAGE }),
  );
  return (
    <>
      <h1>Topic {shown(name)}</h1>
      <Answer asked={asked}>
        {({ total, rows, topic_id }) => (
          <>
            <Facts facts={[["id", shown(topic_id)], ["partitions", count(total)]]} />
            <Why about={{ topic: name }} />
            <Table
              caption="Partitions"
              rows={rows}
              keyOf={(each) => each.partition}
              columns={[
                {
                  name: "partition",
                  cell: (each) => (
                    <a href={hash("records", name, each.partition)}
                      aria-label={`Records of partition ${each.partition}`}>{each.partition}</a>
                  ),
                  isNumber: true,
                },
                {
                  name: "leader",
                  cell: (each) =>
                    each.leader === null ? <Mark tone="bad">none</Mark> : `${each.leader} (epoch ${each.leader_epoch})`,
                },
                { name: "replicas", cell: (each) => each.replicas.join(", ") },
                { name: "in sync", cell: (each) => each.in_sync.join(", ") || "none" },
                { name: "log start", cell: (each) => offset(each.log_start), isNumber: true },
                { name: "last stable", cell: (each) => offset(each.last_stable_offset), isNumber: true },
                { name: "high watermark", cell: (each) => offset(each.high_watermark), isNumber: true },
                { name: "state", cell: stable },
              ]}
            />
            <Pages first={first} total={total} go={setFirst} />
          </>
        )}
      </Answer>
    </>
  );
}

function offset(value: number | null) {
  return value === null ? "-" : count(value);
}

function stable(partition: Partition) {
  if (partition.error) return <Mark tone="bad">{shown(partition.error)}</Mark>;
  const behind = (partition.high_watermark ?? 0) - (partition.last_stable_offset ?? 0);
  return behind > 0 ? (
    <Mark tone="waits">open transaction, {count(behind)} held</Mark>
  ) : (
    <Mark tone="good">stable</Mark>
  );
}
