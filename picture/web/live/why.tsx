// Why is it stuck? The answer of `ottla why` about what a view shows, asked by a button.
import { useState } from "preact/hooks";
import { pathOf, type Query, send } from "./asking";
import { Failed, Mark } from "./parts";
import { shown } from "./text";

interface Finding {
  situation: string;
  subject: string;
  sentence: string;
  evidence: string;
  advice: string;
  is_stuck: boolean;
}

interface Explanation {
  is_stuck: boolean;
  findings: Finding[];
  unasked: string[];
}

const LONG = 2000;

export function Why({ about }: { about: Query }) {
  const [found, setFound] = useState<Explanation | null>(null);
  const [isAsking, setAsking] = useState(false);
  const [error, setError] = useState("");
  const ask = async () => {
    setAsking(true);
    setError("");
    try {
      setFound(await send<Explanation>("GET", pathOf("/browse/why", about)));
    } catch (failed) {
      setError(String((failed as Error).message));
    }
    setAsking(false);
  };
  return (
    <section class="why" aria-label="Why is it stuck?">
      <button onClick={ask} disabled={isAsking}>{isAsking ? "Asking …" : "Why is it stuck?"}</button>
      <Failed text={error} />
      <div role="status">
        {found && !found.is_stuck && <p><Mark tone="good">Nothing is stuck.</Mark></p>}
        {found && (
          <ul>
            {found.findings.map((each, at) => (
              <li key={at}>
                <Mark tone={each.is_stuck ? "bad" : "quiet"}>{shown(each.sentence, LONG)}</Mark>
                {each.evidence && <p class="evidence">{shown(each.evidence, LONG)}</p>}
                {each.advice && <p>{shown(each.advice, LONG)}</p>}
              </li>
            ))}
            {found.unasked.map((each) => <li key={each}>Not asked: {shown(each, LONG)}</li>)}
          </ul>
        )}
      </div>
    </section>
  );
}
