// What the signs mean, how to search, and which keys there are.
import { SUBJECTS } from "./search";
import { Mark, WORDS } from "./marks";
import { useEffect, useRef } from "preact/hooks";

const KEYS: [string, string][] = [
  ["↑ ↓ PageUp PageDown Home End", "choose an event, when the time line has the focus"],
  ["/", "search"], ["n, N", "next, previous found event"], ["e, E", "next, previous error or fault"],
  ["Esc", "leave the search, or close the event"], ["?", "this help"],
];

export function Help({ onClose }: { onClose(): void }) {
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => close.current?.focus(), []);
  return (
    <div class="help" role="dialog" aria-label="Help">
      <div class="bar">
        <h2>Help</h2><span class="space" />
        <button type="button" ref={close} onClick={onClose} aria-label="Close the help">✕</button>
      </div>
      <h3>Signs</h3>
      <ul class="signs">
        {Object.entries(WORDS).map(([mark, word]) => (
          <li key={mark}>
            <svg width="22" height="20" aria-hidden="true"><Mark mark={mark} x={11} y={10} /></svg>{word}
          </li>
        ))}
      </ul>
      <p>
        A band in a lane is a state, or in a partition an open transaction. T1, T2 … number the transactions, each in a
        colour of its own. A grey line leads from a request to its answer. An arc leads from the read of a record to its
        copy (solid), and to the commit of the offset behind it (dashed; red if the commit was refused). Tinted lines are those
        that What stands out names. Requests that only set up connections share a line, which opens; Connections and more shows
        all of them.
      </p>
      <h3>Search</h3>
      <p>An event has to have all words. These have a subject:</p>
      <dl>{Object.entries(SUBJECTS).map(([subject, what]) => [<dt key={subject}>{subject}:</dt>, <dd>{what}</dd>])}</dl>
      <h3>Keys</h3>
      <dl>{KEYS.map(([key, what]) => [<dt key={key}>{key}</dt>, <dd>{what}</dd>])}</dl>
    </div>
  );
}
