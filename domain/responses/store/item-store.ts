import type { EntityManager } from '@mikro-orm/postgresql';
import type { Item } from '#domain/responses/record/item.entity.ts';
import type { OutputItem } from '#domain/responses/record/output-items.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';

export interface FinishedItem {
  outputIndex: number;
  item: OutputItem;
  exchange?: Item['exchange'];
  providerState?: Item['providerState'];
}

/** A finished item of the output as it is stored. */
export type ItemRow = Pick<
  Item,
  'id' | 'outputIndex' | 'type' | 'wire' | 'exchange' | 'providerState' | 'supersededBy'
>;

export function toItemRow({
  outputIndex,
  item,
  exchange = null,
  providerState = null,
}: FinishedItem): ItemRow {
  return {
    id: item.id,
    outputIndex,
    type: item.type,
    wire: JSON.stringify(item),
    exchange,
    providerState,
    supersededBy: item.type === 'message' ? (item.platform?.superseded_by ?? null) : null,
  };
}

/**
 * The stored events since `firstN`, one JSON document each. They expire with the response, whose expiry selects the
 * partition.
 */
export async function readTurnEvents(
  em: EntityManager,
  { id, expiresAt }: Response,
  firstN: number,
): Promise<string[]> {
  const runs = await em.execute<{ events: string }[]>(
    'select events from stream_runs where response_id = ? and expires_at = ? and first_n >= ? order by first_n',
    [id, expiresAt, firstN],
  );
  return runs.flatMap((run) => run.events.split('\n'));
}

/** The query of a knowledge_search call; invalid arguments give none. */
export function queriesOf(argumentsText: string): string[] {
  try {
    const parsed = JSON.parse(argumentsText) as { query?: unknown };
    return typeof parsed.query === 'string' ? [parsed.query] : [];
  } catch {
    return [];
  }
}
