// Small windows of choices over the page: lists of check boxes with a filter.
import { useEffect, useRef, useState } from "preact/hooks";

import { shown } from "../shared/fields";

const MOST = 300;

export interface Option {
  key: string | number;
  label: string;
  isChosen: boolean;
}

/** A button that opens a list of check boxes. */
export function Choices({ label, options, onToggle, onAll }: {
  label: string;
  options: Option[];
  onToggle(key: string | number): void;
  onAll(isChosen: boolean): void;
}) {
  const [isOpen, setOpen] = useState(false);
  const [words, setWords] = useState("");
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const close = (event: Event) => {
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      const isOutside = event instanceof MouseEvent && !box.current!.contains(event.target as Node);
      if (!isEscape && !isOutside) return;
      setOpen(false);
      if (isEscape) box.current!.querySelector("button")!.focus();
    };
    document.addEventListener("keydown", close);
    document.addEventListener("mousedown", close);
    return () => {
      document.removeEventListener("keydown", close);
      document.removeEventListener("mousedown", close);
    };
  }, [isOpen]);
  const fitting = options.filter((each) => each.label.toLowerCase().includes(words.toLowerCase()));
  return (
    <div class="choices" ref={box}>
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{label} ▾</button>
      {isOpen && (
        <div class="window" role="group" aria-label={label}>
          <input
            type="search" placeholder="filter this list" aria-label={`Filter: ${label}`} value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
          <div class="row">
            <button type="button" onClick={() => onAll(true)}>All</button>
            <button type="button" onClick={() => onAll(false)}>None</button>
          </div>
          {fitting.slice(0, MOST).map((each) => (
            <label key={each.key}>
              <input type="checkbox" checked={each.isChosen} onChange={() => onToggle(each.key)} />
              <span>{shown(each.label)}</span>
            </label>
          ))}
          {fitting.length > MOST && <p class="dim">{fitting.length - MOST} more: filter the list</p>}
        </div>
      )}
    </div>
  );
}
