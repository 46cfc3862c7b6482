// Texts of others made harmless, and contents of records as text, JSON or hexadecimal digits.

export interface Content {
  size_bytes: number;
  base64: string;
}

/** Control characters, those that turn the direction of writing, and those that nobody sees. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

function escaped(sign: string): string {
  const code = sign.charCodeAt(0);
  return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
}

/** A text of one line without signs that would hide or change what stands around it. */
export function shown(text: unknown, most = 300): string {
  const whole = String(text);
  const cut = whole.length > most ? `${whole.slice(0, most)}…` : whole;
  return cut.replace(UNSEEN, escaped);
}

/** As `shown`, with the line breaks of the text. */
export function shownLines(text: string): string {
  return text.replace(UNSEEN, (sign) => (sign === "\n" ? sign : escaped(sign)));
}

export function bytesOf(content: Content): Uint8Array {
  return Uint8Array.from(atob(content.base64), (sign) => sign.charCodeAt(0));
}

/** The text of bytes; what is no UTF-8 becomes a replacement character. */
export function textOf(content: Content): string {
  return new TextDecoder("utf-8").decode(bytesOf(content), { stream: true });
}

export function isText(content: Content): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(content), { stream: true });
    return true;
  } catch {
    return false;
  }
}

export function hexOf(content: Content): string {
  const lines: string[] = [];
  const bytes = bytesOf(content);
  for (let at = 0; at < bytes.length; at += 16) {
    const part = [...bytes.slice(at, at + 16)];
    const digits = part.map((each) => each.toString(16).padStart(2, "0")).join(" ");
    const signs = part.map((each) => (each > 31 && each < 127 ? String.fromCharCode(each) : "."));
    lines.push(`${at.toString(16).padStart(6, "0")}  ${digits.padEnd(47)}  ${signs.join("")}`);
  }
  return lines.join("\n");
}

/** The content as JSON with line breaks; null if it is none, or not there as a whole. */
export function jsonOf(content: Content): string | null {
  if (bytesOf(content).length < content.size_bytes) return null;
  const text = textOf(content);
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  return indented(text);
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[^\s"[\]{},:]+|[[\]{},:]/g;

/** Valid JSON with line breaks. Its numbers stay as they are: those of JavaScript lose digits. */
function indented(text: string): string {
  const out: string[] = [];
  let depth = 0;
  let before = "";
  const line = () => out.push("\n", "  ".repeat(depth));
  for (const [token] of text.matchAll(TOKEN)) {
    const opened = before === "{" || before === "[";
    if (token === "}" || token === "]") {
      depth -= 1;
      if (!opened) line();
    } else if (opened || before === ",") {
      line();
    }
    out.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") depth += 1;
    before = token;
  }
  return out.join("");
}

export function preview(content: Content | null): string {
  if (content === null) return "null";
  if (content.size_bytes === 0) return "empty";
  if (isText(content)) return shown(textOf(content), 120);
  const digits = [...bytesOf(content).slice(0, 24)].map((each) => each.toString(16).padStart(2, "0"));
  return `0x${digits.join("")}${content.size_bytes > 24 ? "…" : ""}`;
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function duration(ms: number): string {
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1000) return `${ms} ms`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${(ms / 1000).toFixed(1)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

export function time(ms: number): string {
  const when = new Date(ms);
  return ms < 0 || Number.isNaN(when.getTime()) ? "-" : when.toISOString().replace("T", " ");
}

export function count(number: number): string {
  return number.toLocaleString("en-US");
}

/** A number with its noun. */
export function several(number: number, one: string, more: string): string {
  return `${count(number)} ${number === 1 ? one : more}`;
}
