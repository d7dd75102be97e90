import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildCaller } from '#domain/access/load-caller.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';
import { Model } from '#domain/models/model.entity.ts';
import type { ModelPrice } from '#domain/models/model-price.entity.ts';
import { parseUsd } from '#domain/models/pricing.ts';
import { planContinuation } from './continue-turn.ts';
import { failureReason } from './failure-reasons.ts';
import { finishResponse, type Ending } from './finish-response.ts';
import { readTurnEvents } from './item-store.ts';
import { currentRecord, lockHead, publish, usageOf } from './head.ts';
import { itemId } from './item-ids.ts';
import { buildPrompt } from './model-prompt.ts';
import { foldTurn } from './open-item.ts';
import { listTools, planApproved } from './open-with-tools.ts';
import { waitsForCaller } from './outstanding-calls.ts';
import { firstModelTurn } from './response-request.ts';
import { queueLimitMs } from './response-status.ts';
import type { Response } from './response.entity.ts';
import { TurnAttempt } from './turn-attempt.entity.ts';
import { Turn } from './turn.entity.ts';
import type { TurnResult } from './turn-result.ts';
import type { ClaimedTurn, TurnKey } from './turn-claim.ts';
import { committedOutputTokens, currentPrice, estimatePrompt, reserveUsage, settleOrphans } from './usage.ts';

/** Crashes in a row, without one new published character, after which a turn is given up. */
const poisonLimit = 10;

export type TurnClaim = { kind: 'settled'; result: TurnResult } | { kind: 'claimed'; turn: ClaimedTurn };

const done: TurnClaim = { kind: 'settled', result: { next: 'done', calls: [] } };

/**
 * Takes a turn for one attempt: begins the response, fences earlier writers, settles what they left, checks
 * rights and limits, and says from where the text goes on. A turn that was committed answers its result.
 */
export async function claimTurn(em: EntityManager, secrets: Secrets, key: TurnKey): Promise<TurnClaim> {
  const head = await lockHead(em, key.responseId);
  if (head === null || head.response.isTerminal) {
    return done;
  }
  const { response, now } = head;
  const existing = await em.findOne(Turn, { responseId: response.id, iteration: key.iteration });
  if (existing?.status === 'committed') {
    return { kind: 'settled', result: existing.result ?? { next: 'done', calls: [] } };
  }
  const refused = await mayNotGoOn(em, response, now, key.iteration);
  if (refused !== null) {
    await finishResponse(em, response, now, refused);
    return done;
  }
  if (response.status === 'queued') {
    response.begin(now);
  }
  if (existing === null && key.iteration > 0 && (await waitsForCaller(em, response.id))) {
    await finishResponse(em, response, now, { status: 'completed' });
    return done;
  }
  const turn = existing ?? (await openTurn(em, secrets, response, key.iteration));
  if (key.iteration < firstModelTurn(response.request)) {
    // The ledger's rows refer to the turn's.
    await em.flush();
    const { result, events } = planApproved({ em, secrets, response }, turn, now);
    await publish(em, response, events);
    return { kind: 'settled', result };
  }
  return attempt(em, secrets, { response, turn, now });
}

/** The end that stands in the way of another attempt, if any. */
async function mayNotGoOn(
  em: EntityManager,
  response: Response,
  now: Date,
  iteration: number,
): Promise<Ending | null> {
  if (response.status === 'queued' && now.getTime() - response.queuedSince.getTime() > queueLimitMs) {
    return { status: 'failed', failure: failureReason('engine_unavailable') };
  }
  if (response.deadlineAt != null && now >= response.deadlineAt) {
    return { status: 'incomplete', reason: 'deadline_exceeded' };
  }
  if (iteration - firstModelTurn(response.request) >= response.governance.limits.max_iterations) {
    return { status: 'incomplete', reason: 'max_iterations' };
  }
  return (await isStillGranted(em, response))
    ? null
    : { status: 'failed', failure: failureReason('permission_revoked') };
}

async function isStillGranted(em: EntityManager, response: Response): Promise<boolean> {
  try {
    const caller = await rebuildCaller(em, response);
    return caller.granted.has('responses.create');
  } catch (error) {
    if (error instanceof DomainError) {
      return false;
    }
    throw error;
  }
}

async function openTurn(
  em: EntityManager,
  secrets: Secrets,
  response: Response,
  iteration: number,
): Promise<Turn> {
  response.iterationCount = iteration + 1;
  const record = await currentRecord(em, response);
  await publish(em, response, [{ type: 'response.in_progress', response: record }]);
  if (iteration === 0) {
    await publish(em, response, listTools(em, secrets, response));
  }
  return em.create(Turn, {
    tenantId: response.tenantId,
    responseId: response.id,
    iteration,
    firstN: response.nextN,
    firstOutputIndex: response.nextOutputIndex,
  });
}

interface Attempting {
  response: Response;
  turn: Turn;
  now: Date;
}

async function attempt(
  em: EntityManager,
  secrets: Secrets,
  { response, turn, now }: Attempting,
): Promise<TurnClaim> {
  const events = await readTurnEvents(em, response.id, turn.firstN);
  const folded = foldTurn(events);
  const earlier = await em.find(
    TurnAttempt,
    { responseId: response.id, iteration: turn.iteration },
    { orderBy: { attempt: 'asc' } },
  );
  for (const lost of earlier.filter((entry) => entry.outcome === 'running')) {
    lost.outcome = 'crashed';
    lost.endedAt = now;
  }
  const model = await em.findOneOrFail(Model, { id: response.modelId });
  const plan = planContinuation(response.request, model, { folded, earlier, events });
  const resume = plan === 'give_up' ? null : (plan.resume ?? null);
  // A run that is read again is paid for once, by the attempt that ends it.
  await settleOrphans(em, response, events, resume);
  await em.flush();
  const prefixLength = folded.open?.text.length ?? 0;
  const recent = earlier.slice(-poisonLimit);
  if (
    recent.length === poisonLimit &&
    recent.every((e) => e.outcome === 'crashed' && e.prefixLength === prefixLength)
  ) {
    await finishResponse(em, response, now, { status: 'failed', failure: failureReason('generation_lost') });
    return done;
  }
  if (plan === 'give_up') {
    await finishResponse(em, response, now, { status: 'failed', failure: failureReason('generation_lost') });
    return done;
  }
  const prompt = await buildPrompt(em, response, model);
  const messages = [...prompt.messages, ...plan.messages];
  const price = await currentPrice(em, model.id);
  const inputTokens = estimatePrompt(messages);
  const budget = await outputBudget(em, response, price, inputTokens);
  if (typeof budget !== 'number') {
    await finishResponse(em, response, now, budget);
    return done;
  }
  response.attempts += 1;
  const epoch = response.bumpEpoch();
  const number = earlier.length + 1;
  em.create(TurnAttempt, {
    tenantId: response.tenantId,
    responseId: response.id,
    iteration: turn.iteration,
    attempt: number,
    epoch,
    firstN: response.nextN,
    prefixLength,
    continuation: plan.name,
    // Known before its first event: whatever ends this attempt, the run is paid for once.
    ...(resume === null ? {} : { runId: resume }),
    startedAt: now,
  });
  reserveUsage(em, response, { iteration: turn.iteration, attempt: number, price, inputTokens });
  if (response.request.stream_events && number > 1) {
    await publish(em, response, [
      {
        type: 'platform.continued',
        iteration: turn.iteration,
        continuation: plan.name,
        prefix_length: prefixLength,
      },
    ]);
  }
  const last = [...folded.closed.map((closed) => closed.outputIndex), folded.open?.outputIndex ?? -1];
  return {
    kind: 'claimed',
    turn: {
      tenantId: response.tenantId,
      responseId: response.id,
      iteration: turn.iteration,
      attempt: number,
      epoch,
      nextN: response.nextN,
      closed: folded.closed,
      composer: {
        open: folded.open,
        restart: plan.restart ?? false,
        ...(plan.reread === undefined ? {} : { reread: plan.reread }),
        nextOutputIndex: Math.max(turn.firstOutputIndex, ...last.map((index) => index + 1)),
        // A model that is held to JSON cannot go on in the middle of it.
        buffered: response.request.stream_granularity === 'item' || response.request.format.type !== 'text',
        citations: prompt.citations,
        messageId: (outputIndex) => itemId(secrets, 'msg', response.id, outputIndex),
      },
      model: {
        alias: model.alias,
        providerKind: model.providerKind,
        providerModel: model.providerModel,
        baseUrl: model.baseUrl ?? null,
        credentialRef: model.credentialRef ?? null,
        maxOutputTokens: model.maxOutputTokens,
        supportsReasoning: model.supportsReasoning,
        keepsRuns: model.continuation === 'reattach',
        inputModalities: model.inputModalities,
      },
      messages,
      resume,
      settings: response.request,
      maxOutputTokens: budget,
    },
  };
}

/** Output tokens that limits and money leave for one more call, or the end that they demand. */
async function outputBudget(
  em: EntityManager,
  response: Response,
  price: ModelPrice,
  inputTokens: number,
): Promise<number | Ending> {
  const { limits } = response.governance;
  const spent = await usageOf(em, response);
  const tokens = limits.max_output_tokens - (await committedOutputTokens(em, response.id));
  if (tokens <= 0) {
    return { status: 'incomplete', reason: 'max_output_tokens' };
  }
  if (limits.max_cost_usd === null) {
    return tokens;
  }
  const left =
    parseUsd(limits.max_cost_usd) -
    BigInt(spent.cost_pico_usd) -
    BigInt(inputTokens) * price.inputMicroUsdPerMillion;
  const output = price.outputMicroUsdPerMillion;
  const affordable = output === 0n ? BigInt(tokens) : left / output;
  return left < 0n || affordable < 1n
    ? { status: 'incomplete', reason: 'max_cost' }
    : Math.min(tokens, Number(affordable));
}
