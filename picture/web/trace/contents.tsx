// The beginnings of keys and values of a request or an answer, batch by batch.
import { shown } from "../shared/fields";

type Struct = Record<string, unknown>;

export function Contents({ batches }: { batches: Struct[] }) {
  const found = batches.filter((each) => recordsOf(each).length > 0);
  if (found.length === 0) return null;
  return (
    <section>
      <h3>Keys and values</h3>
      {found.map((batch, number) => {
        const records = recordsOf(batch);
        const more = Number(batch.records) - records.length;
        return (
          <div class="contents" key={number}>
            <span class="dim">{headOf(batch)}</span>
            <ul>
              {records.map((each, place) => (
                <li key={place}>
                  {typeof each.key === "string" && <><Text value={each.key} /> <span class="dim">→</span> </>}
                  <Text value={each.value} />
                </li>
              ))}
            </ul>
            {more > 0 && <span class="dim">and {more.toLocaleString("en")} more</span>}
          </div>
        );
      })}
    </section>
  );
}

/** A batch of an answer without the records before the offset that was asked for; negative: it has gaps. */
export function without(batch: Struct, earlier: number): Struct {
  if (earlier === 0) return batch;
  const offset = Number(batch.base_offset) + Math.abs(earlier);
  if (earlier < 0) return { ...batch, base_offset: offset, first_records: [] };
  return { ...batch, base_offset: offset, records: Number(batch.records) - earlier, first_records: recordsOf(batch).slice(earlier) };
}

function Text({ value }: { value: unknown }) {
  return typeof value === "string" ? <span class="value text">{shown(value)}</span> : <span class="none">null</span>;
}

function headOf(batch: Struct): string {
  const count = `${Number(batch.records)} record${batch.records === 1 ? "" : "s"}`;
  // A batch that a producer sends begins at 0, wherever it is stored.
  const from = Number(batch.base_offset) > 0 ? ` from offset ${Number(batch.base_offset)}` : "";
  return `partition ${Number(batch.partition)}${from}, ${count}`;
}

function recordsOf(batch: Struct): Struct[] {
  const found = batch.first_records;
  return Array.isArray(found) ? found.filter((each) => each !== null && typeof each === "object") : [];
}
