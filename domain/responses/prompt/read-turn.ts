import type { RequesterRecord } from '#domain/foundation/access/load-caller.ts';
import { Model } from '#domain/capabilities/models/model.entity.ts';
import type { Price } from '#domain/capabilities/models/pricing.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { toEntity } from '#domain/foundation/persistence/rows.ts';
import type { StoredItem } from './model-prompt.ts';
import type { UsageSum } from '#domain/responses/record/response-record.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';
import { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import type { TurnKey } from '#domain/responses/record/turn-key.ts';
import { Turn } from '#domain/responses/record/turn.entity.ts';
import type { AttemptPlace } from '#domain/responses/store/usage.ts';

/** A head as it was read: each write compares it with the current one. */
export interface HeadState {
  response: Response;
  /** The database's time. */
  now: Date;
  requester: RequesterRecord;
}

/** Everything that the claim of a turn depends on, of one moment. */
export interface TurnState extends HeadState {
  turn: Turn | null;
  attempts: TurnAttempt[];
  /** The turn's stored events, one JSON document each. */
  events: string[];
  /** The response's context, and its own finished items, in order. */
  context: StoredItem[];
  own: StoredItem[];
  model: Model;
  /** The current price, by the database's clock. Every model has at least one: it is written with the model. */
  price: Price & { id: string };
  usage: UsageSum;
  /**
   * Of the committed turns, including the text published by their interrupted attempts. Output lost in a crash is
   * paid for, but does not count towards the limit.
   */
  keptOutputTokens: number;
  /** Attempts whose usage is not settled yet. */
  unsettled: AttemptPlace[];
}

interface HeadRow extends RequesterRecord {
  now: number;
  head: object;
}

interface TurnRow {
  head: HeadRow;
  turn: object | null;
  attempts: object[] | null;
  events: string | null;
  context: StoredItem[] | null;
  own: StoredItem[] | null;
  model: object;
  price: { id: string; input: string; cached_input: string; output: string };
  ledger: { usage: UsageSum; kept_output_tokens: number; unsettled: AttemptPlace[] };
}

/** Null: unknown, expired or deleted. */
export async function readTurn(database: Database, key: TurnKey): Promise<TurnState | null> {
  const [row] = await database.call<TurnRow>('read_turn', 'select * from app.read_turn($1, $2, $3)', [
    key.tenantId,
    key.responseId,
    key.iteration,
  ]);
  if (row === undefined) {
    return null;
  }
  const { price, ledger } = row;
  return {
    ...toHeadState(row.head),
    turn: row.turn === null ? null : toEntity(Turn, row.turn),
    attempts: (row.attempts ?? []).map((attempt) => toEntity(TurnAttempt, attempt)),
    events: row.events === null ? [] : row.events.split('\n'),
    context: row.context ?? [],
    own: row.own ?? [],
    model: toEntity(Model, row.model),
    price: {
      id: price.id,
      inputMicroUsdPerMillion: BigInt(price.input),
      cachedInputMicroUsdPerMillion: BigInt(price.cached_input),
      outputMicroUsdPerMillion: BigInt(price.output),
    },
    usage: ledger.usage,
    keptOutputTokens: ledger.kept_output_tokens,
    unsettled: ledger.unsettled,
  };
}

/** A call of the ledger and the head of its response; either may be null. */
export async function readCall(
  database: Database,
  key: TurnKey & { callIndex: number },
): Promise<{ head: HeadState | null; call: ToolCall | null }> {
  const [row] = await database.call<{ head: HeadRow | null; call: object | null }>(
    'read_call',
    'select head, call from app.read_call($1, $2, $3, $4)',
    [key.tenantId, key.responseId, key.iteration, key.callIndex],
  );
  return {
    head: row?.head == null ? null : toHeadState(row.head),
    call: row?.call == null ? null : toEntity(ToolCall, row.call),
  };
}

function toHeadState({ head, now, access, key }: HeadRow): HeadState {
  return { response: toEntity(Response, head), now: new Date(now), requester: { access, key } };
}
