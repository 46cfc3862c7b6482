// The sign of a row in a lane. Each has a form of its own, so that colour is never needed to read it.

export const WORDS: Record<string, string> = {
  x: "request and answer", q: "request, its answer comes later", a: "answer", f: "fault",
  s: "new state", c: "commit marker", b: "abort marker", r: "records appended",
  n: "connection", o: "other event", e: "error", u: "rule of faults added or removed", t: "the clock was moved",
};

export function Mark({ mark, x, y }: { mark: string; x: number; y: number }) {
  switch (mark) {
    case "e":
      return <path class="mark error" d={`M${x - 4} ${y - 4}l8 8M${x + 4} ${y - 4}l-8 8`} />;
    case "f":
      return (
        <g class="mark fault">
          <path d={`M${x} ${y - 7}l7 7l-7 7l-7 -7z`} />
          <path class="inner" d={`M${x} ${y - 4}v4.5M${x} ${y + 2.6}v1.4`} />
        </g>
      );
    case "x":
      return <circle class="mark full" cx={x} cy={y} r={4} />;
    case "q":
      return <path class="mark full" d={`M${x - 4} ${y - 4.5}l9 4.5l-9 4.5z`} />;
    case "a":
      return <circle class="mark" cx={x} cy={y} r={3.6} />;
    case "s":
      return <rect class="mark full" x={x - 4} y={y - 4} width={8} height={8} />;
    case "c":
      return <path class="mark good" d={`M${x - 5} ${y}l3.5 4l6.5 -8`} />;
    case "b":
      return <path class="mark error" d={`M${x - 5} ${y - 5}h10v10h-10zM${x - 5} ${y + 5}l10 -10`} />;
    case "u":
      return <path class="mark rule" d={`M${x} ${y - 6}l6 6l-6 6l-6 -6z`} />;
    case "t":
      return <path class="mark" d={`M${x - 5} ${y - 5.5}h10l-10 11h10z`} />;
    case "r":
      return <path class="mark" d={`M${x - 5} ${y}h10`} />;
    default:
      return <circle class="mark full small" cx={x} cy={y} r={2} />;
  }
}
