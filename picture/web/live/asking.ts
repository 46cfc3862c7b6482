// Asks the server of the page: questions again and again while somebody looks, changes once.
import { useEffect, useRef, useState } from "preact/hooks";

export type Query = Record<string, string | number | undefined>;

/** The pause between two answers to the same question; the server asks the cluster no more often. */
const EVERY_MS = 2000;
/** What tells the server that a change comes from its own page. */
const OF_PAGE = { "X-Ottla-Page": "1" };

export class Refused extends Error {
  constructor(
    readonly status: number,
    text: string,
  ) {
    super(text);
  }
}

export function pathOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
  return text ? `${path}?${text}` : path;
}

export async function send<T>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      signal,
      cache: "no-store",
      headers: body === undefined ? OF_PAGE : { ...OF_PAGE, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (failed) {
    if (signal?.aborted) throw failed;
    throw new Refused(0, "The server of this page does not answer.");
  }
  const content = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, String(content.error ?? answer.status));
  return content as T;
}

export interface Asked<T> {
  answer?: T;
  error?: string;
  again: () => void;
}

/** The newest answer to a question, which is asked again while the page is seen. */
export function useAnswer<T>(path: string | null, repeats = true): Asked<T> {
  const [state, setState] = useState<{ path: string | null; answer?: T; error?: string }>({ path });
  const [round, setRound] = useState(0);
  const asks = useRef<() => void>(() => {});
  useEffect(() => {
    if (path === null) return;
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isAsking = false;
    const ask = async () => {
      if (isAsking || document.hidden) return;
      isAsking = true;
      clearTimeout(timer);
      try {
        const answer = await send<T>("GET", path, undefined, ended.signal);
        if (!ended.signal.aborted) setState({ path, answer });
      } catch (failed) {
        if (ended.signal.aborted) return;
        const error = String((failed as Error).message);
        setState((before) => ({ ...(before.path === path ? before : { path }), error }));
      } finally {
        isAsking = false;
      }
      if (repeats && !ended.signal.aborted) timer = setTimeout(ask, EVERY_MS);
    };
    asks.current = ask;
    document.addEventListener("visibilitychange", ask);
    void ask();
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", ask);
    };
  }, [path, repeats, round]);
  const known = state.path === path ? state : { path };
  return { answer: known.answer, error: known.error, again: () => setRound((each) => each + 1) };
}
