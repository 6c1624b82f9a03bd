import { type DataFrame, type Field } from '@grafana/data';

/**
 * A stream tells every revision of an incident. newest keeps the last that was
 * told of each, the newest opening first, at most limit of them. A frame without
 * ids is left as it is.
 */
export function newest(frame: DataFrame, limit: number): DataFrame {
  const ids = column(frame, 'id');
  const opened = column(frame, 'opened');
  if (!ids || !opened) {
    return frame;
  }
  const rows = new Map<unknown, number>();
  for (let r = 0; r < frame.length; r++) {
    const before = rows.get(ids[r]);
    if (before === undefined || !older(frame, r, before)) {
      rows.set(ids[r], r);
    }
  }
  const order = [...rows.values()].sort((a, b) => Number(opened[b]) - Number(opened[a]) || (String(ids[a]) < String(ids[b]) ? -1 : 1));
  order.length = Math.min(order.length, limit);
  return {
    ...head(frame),
    fields: frame.fields.map((f) => ({ ...f, values: order.map((r) => f.values[r]), state: null })),
    length: order.length,
  };
}

/** Whether row a is an older revision than row b. What is told again replaces: it may carry another verdict. */
function older(frame: DataFrame, a: number, b: number): boolean {
  const revision = column(frame, 'revision');
  return revision !== undefined && Number(revision[a]) < Number(revision[b]);
}

function column(frame: DataFrame, name: string): unknown[] | undefined {
  return frame.fields.find((f: Field) => f.name === name)?.values;
}

function head(frame: DataFrame): Omit<DataFrame, 'fields' | 'length'> {
  return { name: frame.name ?? 'incidents', refId: frame.refId, meta: frame.meta };
}
