// Where the chosen event is shown: beside the time line if its sentences keep their room, or below it.
import { useEffect, useState } from "preact/hooks";

const AROUND_LANES = 194; // the times, and the arcs
const PANEL = 420;
const SENTENCE = 620;

/** Whether the event is below, and what moves it to the other place. */
export function useDock(lanesWidth: number): [boolean, () => void] {
  const [width, setWidth] = useState(window.innerWidth);
  const [chosen, setChosen] = useState<boolean | null>(null);
  useEffect(() => {
    const measure = () => setWidth(window.innerWidth);
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, []);
  const isBelow = chosen ?? width - AROUND_LANES - lanesWidth - PANEL < SENTENCE;
  return [isBelow, () => setChosen(!isBelow)];
}
