// Shows a value of JSON as a tree of names and values. A long text is cut until a reader asks for it.
import { useState } from "preact/hooks";

const SHORT = 300;
const MOST = 200;

export function Fields({ value, name }: { value: unknown; name?: string }) {
  if (value === null || typeof value !== "object") {
    return <div class="field">{name !== undefined && <Name text={name} />}<Leaf value={value} /></div>;
  }
  const entries = Array.isArray(value)
    ? value.map((each, number) => [String(number), each] as const)
    : Object.entries(value);
  return <Branch name={name} entries={entries} isList={Array.isArray(value)} />;
}

function Branch({ name, entries, isList }: {
  name?: string; entries: (readonly [string, unknown])[]; isList: boolean;
}) {
  const [most, setMost] = useState(MOST);
  const inner = (
    <>
      {entries.slice(0, most).map(([key, each]) => <Fields key={key} name={key} value={each} />)}
      {entries.length > most && (
        <button type="button" onClick={() => setMost(most + MOST * 5)}>
          {entries.length - most} more
        </button>
      )}
    </>
  );
  if (name === undefined) return <div class="fields">{inner}</div>;
  if (entries.length === 0) {
    return <div class="field"><Name text={name} /><span class="none">{isList ? "[]" : "{}"}</span></div>;
  }
  return (
    <details class="branch" open>
      <summary><Name text={name} />{isList && <span class="none">{entries.length}</span>}</summary>
      <div class="fields">{inner}</div>
    </details>
  );
}

function Name({ text }: { text: string }) {
  return <span class="name">{text.slice(0, SHORT)}</span>;
}

function Leaf({ value }: { value: unknown }) {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== "string") return <span class="value">{String(value)}</span>;
  if (value.length <= SHORT || isWhole) return <span class="value text">{shown(value)}</span>;
  return (
    <span class="value text">
      {shown(value.slice(0, SHORT))}…{" "}
      <button type="button" onClick={() => setWhole(true)}>all {value.length} characters</button>
    </span>
  );
}

/** A text whose control characters, and signs that turn the direction of text, are visible; as protocol/shown_text.py. */
export function shown(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/gu,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
