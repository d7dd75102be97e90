import type { EntityManager } from '@mikro-orm/postgresql';
import { toEventRow, type AuditEvent, type EventRow } from '#domain/foundation/events/record-event.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import type { Dispatch, StartMessage } from '#domain/foundation/durable/messages.ts';
import { leaseSecondsOf, sendWithCommit, toRow } from '#domain/foundation/durable/outbox.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { changedColumns, copyEntity, toColumns } from '#domain/foundation/persistence/rows.ts';
import { toItemRow, type FinishedItem, type ItemRow } from './item-store.ts';
import type { Item as WireItem, ToolExchange } from '#domain/responses/record/output-items.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { toRun, type StreamEvent } from '#domain/responses/record/stream-events.ts';
import type { ToolCall } from '#domain/responses/record/tool-call.entity.ts';
import type { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import type { Turn } from '#domain/responses/record/turn.entity.ts';
import type { FinalUsage } from './usage.ts';

/** Prepared calls for reading and writing; the ORM for rare operations. */
export interface ResponseStore {
  database: Database;
  unitOfWork: UnitOfWork;
}

export type NewCall = Pick<
  ToolCall,
  'iteration' | 'callIndex' | 'callId' | 'itemId' | 'outputIndex' | 'tool' | 'arguments' | 'idempotencyKey'
> &
  Partial<
    Pick<
      ToolCall,
      'serverLabel' | 'toolName' | 'schemaHash' | 'approvalRequestId' | 'firstLabel' | 'providerState'
    >
  >;

/** A new attempt, with the usage row that it reserves. */
export type NewAttempt = Pick<
  TurnAttempt,
  'iteration' | 'attempt' | 'epoch' | 'firstN' | 'prefixLength' | 'continuation' | 'runId' | 'startedAt'
> & { priceId: string; inputTokens: number };

export type CommittedAttempt = FinalUsage & { iteration: number; attempt: number; endedAt: Date };

type CallStep = Pick<
  ToolCall,
  'iteration' | 'callIndex' | 'status' | 'attempts' | 'outcome' | 'resultDigest' | 'startedAt' | 'doneAt'
> & { was: ToolCall['status'] } & CallHold;

/** The claim under which an attempt updates a call that another attempt may hold. */
export interface CallHold {
  nonce?: string;
  /** Set when the step begins or renews the lease. */
  leaseSeconds?: number;
  /** The step holds the tool's answer, which counts whichever attempt holds the call. */
  known?: boolean;
}

/**
 * `conflict`: the response has changed since it was read. `blocked`: it would end, and another response waits for its
 * end. Nothing is written in either case.
 */
export type ChangeAnswer = 'applied' | 'conflict' | 'blocked';

/** Columns that `insert-head.ts` sets once. `deleted_at` is set by `delete-response.ts`. */
const fixed: ReadonlySet<string> = new Set<Extract<keyof Response, string>>([
  'tenantId',
  'id',
  'spaceId',
  'principalId',
  'apiKeyId',
  'modelId',
  'model',
  'modelAlias',
  'previousResponseId',
  'request',
  'fingerprint',
  'metadata',
  'createdAt',
  'deletedAt',
]);

/**
 * Collects all changes of one step to a response, so that one call writes them in one transaction, compared with the
 * state that was read. `response` is the new head. Every write to a head is such a change.
 */
export class ResponseChange {
  readonly response: Response;
  readonly #before: Response;
  readonly #lines: string[] = [];
  readonly items: ItemRow[] = [];
  readonly #context: { position: number; itemId: string }[] = [];
  readonly starts: Dispatch[] = [];
  readonly calls: NewCall[] = [];
  readonly #audits: EventRow[] = [];
  turn: Omit<Turn, 'tenantId' | 'responseId' | 'createdAt'> | null = null;
  attempt: NewAttempt | null = null;
  committed: CommittedAttempt | null = null;
  /** Set by `writeLocked`. */
  isLocked = false;
  #call: CallStep | null = null;

  constructor(before: Response) {
    this.#before = before;
    this.response = copyEntity(before);
  }

  publish(events: readonly StreamEvent[]): void {
    if (events.length > 0) {
      const run = toRun(events, this.response.nextN);
      this.#lines.push(run.events);
      this.response.nextN += run.n;
    }
  }

  addItem(finished: FinishedItem): void {
    this.items.push(toItemRow(finished));
  }

  /**
   * Moves a call through the ledger; applied only if the call is still as in `before`, and held by no other attempt.
   */
  step(before: ToolCall, after: ToolCall, hold: CallHold = {}): void {
    const { iteration, callIndex, status, attempts, outcome, resultDigest, startedAt, doneAt } = after;
    const row = { iteration, callIndex, status, attempts, outcome, resultDigest, startedAt, doneAt };
    this.#call = { ...row, ...hold, was: before.status };
  }

  /** Stores an item of its input, which has no place in the output. */
  addInput(item: WireItem, exchange: ToolExchange | null = null): void {
    const { id, type } = item;
    const wire = JSON.stringify(item);
    this.items.push({ id, outputIndex: null, type, wire, exchange, providerState: null, supersededBy: null });
  }

  /** Adds items, its own or of other responses, to the response's context. */
  addContext(itemIds: readonly string[], position: number): void {
    this.#context.push(...itemIds.map((itemId, i) => ({ position: position + i, itemId })));
  }

  /** After the write: what holds the head that was read sees the new one. */
  applyToBefore(): void {
    Object.assign(this.#before, this.response);
  }

  /** Starts a workflow when the change is committed. */
  enqueue(start: StartMessage): void {
    this.starts.push(toRow(start, this.response.tenantId));
  }

  record(actor: Actor, event: AuditEvent, sealed: { ip?: string | null } = {}): void {
    this.#audits.push(toEventRow(actor, event, sealed));
  }

  get isEmpty(): boolean {
    return Object.keys(this.#toRows(leftToRelays)).length === 0;
  }

  /** The arguments of `app.write_response`, with the lease of each start. */
  toArguments(leaseOf: (start: Dispatch) => number): [string, string, number, number, string] {
    const { tenantId, id, writerEpoch, nextN } = this.#before;
    const rows = this.#toRows(leaseOf);
    const change = this.isLocked ? { ...rows, locked: true } : rows;
    return [tenantId, id, writerEpoch, nextN, JSON.stringify(change, bigintAsText)];
  }

  #toRows(leaseOf: (start: Dispatch) => number): Record<string, unknown> {
    const change: Record<string, unknown> = {};
    const put = (name: 'turn' | 'attempt' | 'committed' | 'call', row: object | null) => {
      if (row !== null) {
        change[name] = toColumns(row);
      }
    };
    const list = (name: 'items' | 'context' | 'starts' | 'calls' | 'audits', rows: readonly object[]) => {
      if (rows.length > 0) {
        change[name] = rows.map(toColumns);
      }
    };
    const head = changedColumns(this.#before, this.response, fixed);
    if (head !== null) {
      change['head'] = head;
    }
    if (this.#lines.length > 0) {
      change['events'] = this.#lines.join('\n');
    }
    put('turn', this.turn);
    put('attempt', this.attempt);
    put('committed', this.committed);
    put('call', this.#call);
    list('items', this.items);
    list('context', this.#context);
    list(
      'starts',
      this.starts.map((start) => {
        const { id, workflowType, workflowId, payload } = start;
        return { id, workflowType, workflowId, payload, leaseSeconds: leaseOf(start) };
      }),
    );
    list('calls', this.calls);
    list('audits', this.#audits);
    return change;
  }
}

/** A change written outside of a unit of work: the relays send its starts, not this process. */
const leftToRelays = () => 0;

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

/** One round trip, one transaction. */
export async function writeChange(database: Database, change: ResponseChange): Promise<ChangeAnswer> {
  const [row] = await database.call<{ answer: ChangeAnswer }>(
    'write_response',
    'select app.write_response($1, $2, $3, $4, $5) as answer',
    change.toArguments(leftToRelays),
  );
  if (row === undefined) {
    throw new Error('The change was not answered.');
  }
  return row.answer;
}

/** The same, in the current transaction. */
export async function writeWithin(em: EntityManager, change: ResponseChange): Promise<ChangeAnswer> {
  const [row] = await em.execute<{ answer: ChangeAnswer }[]>(
    'select app.write_response(?, ?, ?, ?, ?) as answer',
    change.toArguments((start) => leaseSecondsOf(em, start)),
  );
  const answer = row?.answer ?? 'conflict';
  if (answer === 'applied') {
    sendWithCommit(em, change.starts);
  }
  return answer;
}

/**
 * The same for a head that the current transaction has locked. It is written also past its expiry, and its end
 * although other responses wait for it, which the caller releases. The locked head gets the new values.
 */
export async function writeLocked(em: EntityManager, change: ResponseChange): Promise<void> {
  change.isLocked = true;
  if ((await writeWithin(em, change)) !== 'applied') {
    throw new Error('A response was changed by somebody else while it was locked.');
  }
  change.applyToBefore();
}
