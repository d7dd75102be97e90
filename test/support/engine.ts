import { Client } from 'pg';
import type { Caller } from '#domain/foundation/access/caller.ts';
import { createContext, type Context } from '#domain/foundation/access/context.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import type { Dispatch } from '#domain/foundation/durable/messages.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import type { TokenUsage } from '#domain/capabilities/models/model-gateway.ts';
import type { NewModel } from '#domain/capabilities/models/add-model.ts';
import { claimTurn, type TurnClaim } from '#domain/responses/turn/claim-turn.ts';
import { commitTurn } from '#domain/responses/turn/commit-turn.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { currentRecord, lockHead } from '#domain/responses/store/head.ts';
import { MessageComposer } from '#domain/responses/stream/message-composer.ts';
import type { RequestedCall } from '#domain/responses/store/requested-call.ts';
import type { ProviderState } from '#domain/responses/record/provider-state.ts';
import type { Reasoned } from '#domain/responses/stream/reasoning-items.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { toRun, type StreamEvent } from '#domain/responses/record/stream-events.ts';
import { appendStream, readStreams } from '#domain/responses/store/stream-store.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import type { TurnResult } from '#domain/responses/record/turn-result.ts';
import { startThread } from '#domain/conversations/messages/start-thread.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { release } from './release.ts';
import type { Json } from './stream-events.ts';
import { createWorld, scriptedModel, secrets, type World } from './world.ts';

/** The database side of the engine, driven step by step as the activities drive it. */
export interface Engine {
  database: TestDatabase;
  world: World;
  /** Bypasses row-level security, for arranging and looking. */
  admin: Client;
  /** What would have been sent to Temporal. */
  dispatches: Dispatch[];
  /** One use case as the owner, or as changed by `change`. */
  act<T>(work: (ctx: Context) => Promise<T>, change?: Partial<Caller>): Promise<T>;
  /** A new thread with the message `Hello`. */
  begin(): Promise<{ threadId: string; branchId: string }>;
  /** A queued response. @returns its id */
  create(input?: Partial<CreateResponseInput>): Promise<string>;
  claim(responseId: string, iteration?: number): Promise<TurnClaim>;
  /** Claims and begins to write. @throws unless the turn could be claimed */
  attempt(responseId: string, iteration?: number): Promise<Attempt>;
  record(responseId: string): Promise<ResponseRecord>;
  /** The stored events in order. */
  events(responseId: string): Promise<Json[]>;
  stop(): Promise<void>;
}

export const paidModel = scriptedModel({ url: 'http://127.0.0.1:9/v1' }, 'paid');

/** The default model is `paid`; it is never called. */
export async function openEngine(model: Partial<NewModel> = {}): Promise<Engine> {
  const database = await createTestDatabase();
  const world = await createWorld(database.unitOfWork, [{ ...paidModel, ...model }]);
  const admin = new Client({ connectionString: database.adminUrl });
  await admin.connect();
  const { tenantId, spaceId } = world;
  const inTenant: TestDatabase['unitOfWork']['inTenant'] = (id, work) =>
    database.unitOfWork.inTenant(id, work);
  const engine: Engine = {
    database,
    world,
    admin,
    dispatches: database.dispatches,
    act: (work, change = {}) =>
      inTenant(tenantId, async (em) => {
        const identity = { ...world.owner, apiKeyId: null, keyPermissions: null };
        const caller = await loadCaller(em, identity, { via: 'api', requestId: 'req_test' }, spaceId);
        return work(createContext({ caller: { ...caller, ...change }, em, secrets }));
      }),
    begin: async () => {
      const place = { projectId: null, title: null, branchId: null, idempotency: null };
      const { message } = await engine.act((ctx) =>
        startThread(ctx, { content: 'Hello', role: 'user', metadata: {}, ...place }),
      );
      return { threadId: message.threadId, branchId: message.branchId };
    },
    create: async (input = {}) => {
      const responseId = newResponseId();
      await engine.act((ctx) => createResponse(ctx, requestOf(world, input), { responseId, limits }));
      return responseId;
    },
    claim: (responseId, iteration = 0) => claimTurn(database, secrets, { tenantId, responseId, iteration }),
    attempt: async (responseId, iteration = 0) => {
      const claim = await engine.claim(responseId, iteration);
      if (claim.kind !== 'claimed') {
        throw new Error('The turn was settled already.');
      }
      return new Attempt(engine, claim.turn);
    },
    record: (responseId) =>
      inTenant(tenantId, async (em) => currentRecord(em, (await lockHead(em, responseId))!.response)),
    events: async (responseId) => {
      const runs = await readStreams(database.database, [{ tenantId, responseId, after: -1 }], 10_000);
      return runs
        .flat()
        .flatMap((run) => run.events.split('\n'))
        .map((line) => JSON.parse(line) as Json);
    },
    stop: async () => {
      await admin.end();
      await database.drop();
      release(engine);
    },
  };
  return engine;
}

const limits = { maxActivePerSpace: 10_000, retentionSeconds: 86_400 };

export function requestOf(world: World, input: Partial<CreateResponseInput> = {}): CreateResponseInput {
  return {
    spaceId: world.spaceId,
    input: [{ type: 'message', role: 'user', text: 'Why are there tides?' }],
    modelAlias: null,
    tools: null,
    toolChoice: 'auto',
    toolMode: 'auto_resolve',
    maxOutputTokens: null,
    reasoningEffort: null,
    reasoningSummary: null,
    previousResponseId: null,
    metadata: null,
    instructions: null,
    format: { type: 'text' },
    temperature: null,
    topP: null,
    parallelToolCalls: true,
    include: [],
    maxIterations: null,
    maxToolCalls: null,
    maxCostUsd: null,
    timeoutSeconds: null,
    onBusy: 'reject',
    onGenerationLoss: 'continue',
    onUnknownToolOutcome: 'report',
    streamGranularity: 'token',
    streamEvents: false,
    collectionIds: null,
    fingerprint: 'body',
    idempotency: null,
    ...input,
  };
}

export const usage: TokenUsage = {
  inputTokens: 100,
  cachedInputTokens: 40,
  outputTokens: 20,
  reasoningTokens: 5,
};

export interface CommitOptions {
  calls?: RequestedCall[];
  textState?: ProviderState | null;
  reason?: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  usage?: TokenUsage | null;
}

/** One attempt at a turn: the model's output goes through the composer into the stream. */
export class Attempt {
  readonly turn: ClaimedTurn;
  readonly #engine: Engine;
  readonly #composer: MessageComposer;
  nextN: number;

  constructor(engine: Engine, turn: ClaimedTurn) {
    this.#engine = engine;
    this.turn = turn;
    this.nextN = turn.nextN;
    this.#composer = new MessageComposer(turn.composer);
  }

  /** Reasoning that is finished before more output. */
  reason(reasoned: readonly Reasoned[]): void {
    this.#composer.reasoning(reasoned);
  }

  /** @returns whether it was appended; false: fenced. */
  say(text: string): Promise<boolean> {
    return this.#publish(this.#composer.text(text));
  }

  async commit(options: CommitOptions = {}): Promise<TurnResult> {
    const rest = this.#composer.endOfText();
    const outcome = {
      composer: this.#composer,
      rest,
      calls: options.calls ?? [],
      textState: options.textState ?? null,
      reason: options.reason ?? ('stop' as const),
      usage: options.usage === undefined ? usage : options.usage,
      nextN: this.nextN,
    };
    return commitTurn(this.#engine.database, secrets, this.turn, outcome);
  }

  async #publish(events: StreamEvent[]): Promise<boolean> {
    if (events.length === 0) {
      return true;
    }
    const run = toRun(events, this.nextN);
    const { tenantId, responseId, epoch } = this.turn;
    const [answer] = await appendStream(this.#engine.database.database, [
      { tenantId, responseId, epoch, run },
    ]);
    this.nextN += answer === 'in' ? run.n : 0;
    return answer === 'in';
  }
}

export function search(query: string): RequestedCall {
  return { name: 'knowledge_search', arguments: JSON.stringify({ query }) };
}
