// The head of the page of a failed test: what the test said, and what stands out in the trace.
import { shown } from "../shared/fields";
import { type Model, rowOf } from "../shared/model";

const MOST = 20_000;

export function Head({ model }: { model: Model }) {
  return (
    <>
      {model.failure && <Failure text={model.failure.slice(-MOST)} />}
      {model.findings && model.findings.length > 0 && (
        <details class="findings" open>
          <summary>What stands out</summary>
          <ol aria-label="What stands out" tabIndex={0}>
            {model.findings.map(([seq, text, isLikelyCause]) => (
              <li key={`${seq} ${text}`}>
                <a href={`#seq=${seq}`}>#{seq}</a> {isLikelyCause && <span class="cause">likely cause</span>}{linked(text)}
              </li>
            ))}
            {model.said && <li class="effect">The test failed: {shown(model.said)}</li>}
          </ol>
        </details>
      )}
    </>
  );
}

/** The rows that the sentences name. */
export function rowsOfFindings({ findings, rows }: Model): Set<number> {
  const seqs = (findings ?? []).flatMap(([seq, text]) => [seq, ...[...text.matchAll(/#(\d+)/g)].map((each) => Number(each[1]))]);
  return new Set(seqs.map((each) => rowOf(rows, each)).filter((row) => row >= 0));
}

/** The lines of pytest that say what is wrong, and all others on demand. */
function Failure({ text }: { text: string }) {
  const lines = text.split("\n");
  const said = lines.filter((line) => /^E( |$)/.test(line)).map((line) => line.slice(1)).filter((line) => line.trim());
  const depth = Math.min(...said.map((line) => line.search(/\S/)));
  const title = said.length > 0 ? "Why the test failed" : "What is wrong";
  const short = said.length > 0 ? said.map((line) => line.slice(depth)).join("\n").trim() : text;
  return (
    <section class="failure" aria-label={title}>
      <h2>{title}</h2>
      <pre tabIndex={0} aria-label={said.length > 0 ? "The failed assertion" : "What was said"}>{shown(short)}</pre>
      {short !== text && said.length < lines.length && (
        <details>
          <summary>the whole report</summary>
          <pre tabIndex={0} aria-label="The whole report">{shown(text)}</pre>
        </details>
      )}
    </section>
  );
}

/** A text whose numbers of events are links. */
function linked(text: string) {
  return shown(text).split(/(#\d+)/).map((part, number) =>
    number % 2 ? <a key={number} href={`#seq=${part.slice(1)}`}>{part}</a> : part,
  );
}
