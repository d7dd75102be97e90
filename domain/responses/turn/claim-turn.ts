import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import { requesterOf, rebuildCaller } from '#domain/foundation/access/load-caller.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { toModelSpec } from '#domain/capabilities/models/model-spec.ts';
import { parseUsd } from '#domain/capabilities/models/pricing.ts';
import { includeHistory } from './include-history.ts';
import { continuesPrefix, planContinuation, reasoningToRepeat, resumableRun } from './continue-turn.ts';
import { endClaimed } from '#domain/responses/end/end-claimed.ts';
import { failureReason } from '#domain/responses/record/failure-reasons.ts';
import { toHead } from '#domain/responses/store/head.ts';
import { itemId } from '#domain/responses/record/item-ids.ts';
import { buildPrompt } from '#domain/responses/prompt/model-prompt.ts';
import { foldTurn, textSince } from '#domain/responses/store/open-item.ts';
import { listTools, planApproved } from './open-with-tools.ts';
import type { OutputItem } from '#domain/responses/record/output-items.ts';
import { waitsForCaller } from '#domain/responses/calls/outstanding-calls.ts';
import { readTurn, type HeadState, type TurnState } from '#domain/responses/prompt/read-turn.ts';
import { endOf, endOfEnded, type Ending, type ResponseEnd } from '#domain/responses/record/response-end.ts';
import { ResponseChange, writeChange, type ResponseStore } from '#domain/responses/store/response-change.ts';
import { toResponseRecord } from '#domain/responses/record/response-record.ts';
import { firstModelTurn } from '#domain/responses/record/response-request.ts';
import { withFound } from '#domain/responses/offer/tool-search.ts';
import { queueLimitMs } from '#domain/responses/record/response-status.ts';
import { reconcileLostAttempts } from './reconcile-attempts.ts';
import type { TurnResult } from '#domain/responses/record/turn-result.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import type { TurnKey } from '#domain/responses/record/turn-key.ts';
import { estimatePrompt } from '#domain/responses/store/usage.ts';

/** Consecutive crashes without a new published character after which a turn fails. */
const poisonLimit = 10;
/** Refusals of the requester by which a turn sees that what the response belongs to is deleted. */
const ofDeletion: ReadonlySet<string> = new Set(['tenant_deleting', 'space_not_found']);

export type TurnClaim = { kind: 'settled'; result: TurnResult } | { kind: 'claimed'; turn: ClaimedTurn };

function done(end: ResponseEnd): TurnClaim {
  return { kind: 'settled', result: { next: 'done', calls: [], end } };
}

/**
 * Claims a turn for one attempt: begins the response, fences earlier writers, settles their usage, checks permissions
 * and limits, and plans how the text continues. A committed turn returns its result.
 */
export async function claimTurn(store: ResponseStore, secrets: Secrets, key: TurnKey): Promise<TurnClaim> {
  for (;;) {
    const state = await readTurn(store.database, key);
    if (state === null || state.response.isTerminal) {
      return done(endOfEnded(state?.response ?? null));
    }
    const { turn: existing } = state;
    if (existing?.status === 'committed') {
      return { kind: 'settled', result: existing.result ?? { next: 'done', calls: [] } };
    }
    const decision = decide(secrets, state, key.iteration);
    // A concurrent change of the response makes the write fail, and the turn is read again.
    switch (decision.kind) {
      case 'end':
        if (await endClaimed(store.unitOfWork, decision.change, decision.ending)) {
          return done(endOf(decision.ending));
        }
        break;
      case 'reconcile_lost':
        await reconcileLostAttempts(store.unitOfWork, key, state.response.writerEpoch);
        break;
      case 'include_history':
        await includeHistory(store.unitOfWork, state);
        break;
      case 'write':
        if ((await writeChange(store.database, decision.change)) === 'applied') {
          return decision.claim;
        }
    }
  }
}

type Decision =
  /** The response ends here; `change` holds the changes before its end. */
  | { kind: 'end'; change: ResponseChange; ending: Ending }
  /** Settle the leftovers of earlier attempts, then read the turn again. */
  | { kind: 'reconcile_lost' }
  /** Include the history of the branch, then read the turn again. */
  | { kind: 'include_history' }
  | { kind: 'write'; change: ResponseChange; claim: TurnClaim };

function decide(secrets: Secrets, state: TurnState, iteration: number): Decision {
  const change = new ResponseChange(state.response);
  const { response } = change;
  const refused = requiredEnding(state, iteration);
  if (refused !== null) {
    return { kind: 'end', change, ending: refused };
  }
  if (response.historyDue) {
    return { kind: 'include_history' };
  }
  if (hasOpenAttempts(state, iteration)) {
    return { kind: 'reconcile_lost' };
  }
  if (response.status === 'queued') {
    response.begin(state.now);
  }
  if (needsNoTurn(state, iteration)) {
    return { kind: 'end', change, ending: { status: 'completed' } };
  }
  const opened = state.turn ?? openTurn({ change, secrets }, state, iteration);
  if (iteration < firstModelTurn(response.request)) {
    const { result, events } = planApproved({ change, secrets }, iteration);
    change.turn = { ...opened, status: 'committed', committedAt: state.now, result };
    change.publish(events);
    return { kind: 'write', change, claim: { kind: 'settled', result } };
  }
  return attempt(secrets, state, change, opened);
}

/** The ending that prevents another attempt, if any. */
function requiredEnding(state: TurnState, iteration: number): Ending | null {
  const { response, now } = state;
  if (response.status === 'queued' && now.getTime() - response.queuedSince.getTime() > queueLimitMs) {
    return { status: 'failed', failure: failureReason('engine_unavailable') };
  }
  if (response.deadlineAt != null && now >= response.deadlineAt) {
    return { status: 'incomplete', reason: 'deadline_exceeded' };
  }
  const turns = iteration - firstModelTurn(response.request);
  if (turns >= response.governance.limits.max_iterations && !needsNoTurn(state, iteration)) {
    return { status: 'incomplete', reason: 'max_iterations' };
  }
  return revokedEnding(state);
}

/** The calls of the turn before are done, and the next step is the caller's. */
function needsNoTurn({ turn, own }: TurnState, iteration: number): boolean {
  return turn === null && iteration > 0 && waitsForCaller(own);
}

/** A deletion of the tenant or the space cancels responses: the turn may see it before the deletion comes to it. */
function revokedEnding({ response, requester }: HeadState): Ending | null {
  const revoked = { status: 'failed', failure: failureReason('permission_revoked') } as const;
  try {
    return rebuildCaller(response, requester).granted.has('responses.create') ? null : revoked;
  } catch (error) {
    if (error instanceof DomainError) {
      return ofDeletion.has(error.code) ? { status: 'cancelled', by: null } : revoked;
    }
    throw error;
  }
}

/**
 * Whether earlier attempts left something open; an attempt whose run is read again is settled with the attempt that
 * reads it.
 */
function hasOpenAttempts({ model, attempts, unsettled }: TurnState, iteration: number): boolean {
  const run = resumableRun(model, attempts);
  const read = attempts.filter(({ runId }) => run !== null && runId === run).map(({ attempt }) => attempt);
  return (
    attempts.some(({ outcome }) => outcome === 'running') ||
    unsettled.some((left) => left.iteration !== iteration || !read.includes(left.attempt))
  );
}

type OpenTurn = NonNullable<ResponseChange['turn']>;

function openTurn(
  planning: { change: ResponseChange; secrets: Secrets },
  state: TurnState,
  iteration: number,
): OpenTurn {
  const { change } = planning;
  const { response } = change;
  response.iterationCount = iteration + 1;
  const record = toResponseRecord(toHead(response), outputOf(state), state.usage);
  change.publish([{ type: 'response.in_progress', response: record }]);
  if (iteration === 0) {
    change.publish(listTools(planning));
  }
  change.turn = {
    iteration,
    status: 'open',
    firstN: response.nextN,
    firstOutputIndex: response.nextOutputIndex,
    result: null,
    committedAt: null,
  };
  return change.turn;
}

function outputOf({ own }: Pick<TurnState, 'own'>): OutputItem[] {
  return own.map(({ wire }) => JSON.parse(wire) as OutputItem);
}

function attempt(secrets: Secrets, state: TurnState, change: ResponseChange, turn: OpenTurn): Decision {
  const { model, attempts: earlier, events, now } = state;
  const { response } = change;
  const folded = foldTurn(events);
  const plan = planContinuation(response.request, model, { folded, earlier, events });
  const prefixLength = folded.open?.text.length ?? 0;
  const recent = earlier.slice(-poisonLimit);
  const poisoned =
    recent.length === poisonLimit &&
    recent.every((e) => e.outcome === 'crashed' && e.prefixLength === prefixLength);
  if (poisoned || plan === 'give_up') {
    const failure = failureReason('generation_lost');
    return { kind: 'end', change, ending: { status: 'failed', failure } };
  }
  const prompt = buildPrompt(response, [...state.context, ...state.own], model);
  const messages = [...prompt.messages, ...plan.messages];
  const inputTokens = estimatePrompt(messages);
  const published = continuesPrefix(plan.name) ? textSince(events, turn.firstN) : '';
  const budget = outputBudget(state, { inputTokens, published });
  if (typeof budget !== 'number') {
    return { kind: 'end', change, ending: budget };
  }
  response.attempts += 1;
  const epoch = response.bumpEpoch();
  const number = earlier.length + 1;
  const resume = plan.resume ?? null;
  change.attempt = {
    iteration: turn.iteration,
    attempt: number,
    epoch,
    firstN: response.nextN,
    prefixLength,
    continuation: plan.name,
    // Written before its first event: however this attempt ends, the run is paid for once.
    runId: resume,
    startedAt: now,
    priceId: state.price.id,
    // A prompt that has to be screened may never be sent: it is reserved by `reserveInput`. A run was asked already.
    inputTokens: response.request.redaction === undefined || resume !== null ? inputTokens : 0,
  };
  if (response.request.stream_events && number > 1) {
    change.publish([
      {
        type: 'platform.continued',
        iteration: turn.iteration,
        continuation: plan.name,
        prefix_length: prefixLength,
      },
    ]);
  }
  const last = [...folded.closed.map((closed) => closed.outputIndex), folded.open?.outputIndex ?? -1];
  const repeatedReasoning = reasoningToRepeat(folded, plan);
  const claimed: ClaimedTurn = {
    tenantId: response.tenantId,
    responseId: response.id,
    iteration: turn.iteration,
    attempt: number,
    epoch,
    nextN: response.nextN,
    closed: folded.closed.filter((item) => !repeatedReasoning.includes(item)),
    composer: {
      open: folded.open,
      restart: plan.restart ?? false,
      ...(plan.reread === undefined ? {} : { reread: plan.reread }),
      repeatedReasoning,
      nextOutputIndex: Math.max(turn.firstOutputIndex, ...last.map((index) => index + 1)),
      // A model with a JSON format cannot continue in the middle of the JSON.
      buffered: response.request.stream_granularity === 'item' || response.request.format.type !== 'text',
      citations: prompt.citations,
      itemId: (prefix, outputIndex) => itemId(secrets, prefix, response.id, outputIndex),
    },
    model: toModelSpec(model, response.principalId),
    messages,
    resume,
    settings: withFound(response.request, state.own),
    maxOutputTokens: budget,
    held: {
      response,
      turn,
      output: [...state.own, ...change.items].map(({ wire }) => wire),
      usage: state.usage,
      price: state.price,
      inputTokens,
      requester: requesterOf(response, state.requester),
    },
  };
  return { kind: 'write', change, claim: { kind: 'claimed', turn: claimed } };
}

/** Output tokens that limits and budget allow for one more call, or the ending that they require. */
function outputBudget(
  state: TurnState,
  { inputTokens, published }: { inputTokens: number; published: string },
): number | Ending {
  const { limits } = state.response.governance;
  const said = published === '' ? 0 : estimateTokens(published);
  const tokens = limits.max_output_tokens - state.keptOutputTokens - said;
  if (tokens <= 0) {
    return { status: 'incomplete', reason: 'max_output_tokens' };
  }
  if (limits.max_cost_usd === null) {
    return tokens;
  }
  const left =
    parseUsd(limits.max_cost_usd) -
    BigInt(state.usage.cost_pico_usd) -
    BigInt(inputTokens) * state.price.inputMicroUsdPerMillion;
  const output = state.price.outputMicroUsdPerMillion;
  const affordable = output === 0n ? BigInt(tokens) : left / output;
  return left < 0n || affordable < 1n
    ? { status: 'incomplete', reason: 'max_cost' }
    : Math.min(tokens, Number(affordable));
}
