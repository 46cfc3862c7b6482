// The live page of a cluster: `ottla serve --control` and `ottla console` serve it.
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import "./styles.css";
import { useAnswer } from "./asking";
import { GroupView, Groups } from "./groups";
import { Clock, Faults, TimeLine } from "./lab";
import { Failed } from "./parts";
import { Records } from "./records";
import { shown } from "./text";
import { type Cluster, Overview, Topics, TopicView } from "./topics";
import { Transactions } from "./transactions";

const VIEWS: [string, string][] = [
  ["cluster", "Cluster"],
  ["topics", "Topics"],
  ["transactions", "Transactions"],
  ["groups", "Groups"],
];
const OF_LAB: [string, string][] = [
  ["faults", "Faults"],
  ["clock", "Clock"],
  ["timeline", "Time line"],
];
const INSIDE: Record<string, string> = { topic: "topics", records: "topics", group: "groups" };

function parts(): string[] {
  try {
    return location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  } catch {
    return [""];
  }
}

function usePlace(): string[] {
  const [place, setPlace] = useState(parts);
  useEffect(() => {
    const changed = () => setPlace(parts());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place;
}

function View({ place, cluster }: { place: string[]; cluster: Cluster }) {
  const [view, name = "", partition = "0"] = place;
  switch (view) {
    case "topics": return <Topics />;
    case "topic": return <TopicView key={name} name={name} />;
    case "records": return <Records key={`${name}/${partition}`} topic={name} partition={Number(partition) || 0} />;
    case "transactions": return <Transactions mayChange={cluster.may_change} />;
    case "groups": return <Groups />;
    case "group": return <GroupView key={name} id={name} />;
    case "faults": return cluster.has_lab ? <Faults /> : <Overview cluster={cluster} />;
    case "clock": return cluster.has_lab ? <Clock /> : <Overview cluster={cluster} />;
    case "timeline": return cluster.has_lab ? <TimeLine /> : <Overview cluster={cluster} />;
    default: return <Overview cluster={cluster} />;
  }
}

function App() {
  const place = usePlace();
  const asked = useAnswer<Cluster>("/browse/cluster");
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const current = INSIDE[place[0]] ?? (place[0] || "cluster");
  const here = place.join("/");
  useEffect(() => {
    const name = [...VIEWS, ...OF_LAB].find(([each]) => each === current)?.[1] ?? "Cluster";
    document.title = `${place[1] ? `${shown(place[1], 60)} - ` : ""}${name} - Ottla`;
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [here]);
  const cluster = asked.answer;
  const views = cluster?.has_lab ? [...VIEWS, ...OF_LAB] : VIEWS;
  const skip = (event: Event) => {
    event.preventDefault();
    main.current?.focus();
  };
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>Skip to the content</a>
      <header>
        <span class="brand">Ottla</span>
        <nav aria-label="Views">
          {views.map(([each, name]) => (
            <a key={each} href={`#/${each}`} aria-current={current === each ? "page" : undefined}>{name}</a>
          ))}
        </nav>
        <span class="about">{cluster ? (cluster.may_change ? "" : "read only") : ""}</span>
      </header>
      <main id="content" ref={main} tabIndex={-1}>
        <Failed text={asked.error} />
        {cluster ? <View place={place} cluster={cluster} /> : !asked.error && <p>Asking …</p>}
      </main>
    </>
  );
}

document.documentElement.lang = "en";
render(<App />, document.getElementById("page")!);
