import type { EntityManager } from '@mikro-orm/postgresql';
import { Model } from '#domain/capabilities/models/model.entity.ts';
import { exceeds, passContext } from '#domain/responses/prompt/context-snapshot.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { generationStart } from '#domain/responses/store/generation-start.ts';
import { ResponseChange, writeLocked } from '#domain/responses/store/response-change.ts';
import type { FailureCode } from '#domain/responses/record/response-status.ts';
import { Response } from '#domain/responses/record/response.entity.ts';

/** Locks all responses that wait for this one, each before those that wait for it. @returns whether there are any */
export async function lockWaiting(em: EntityManager, { id }: Response): Promise<boolean> {
  const rows = await em.execute(
    `with recursive waiting as (
       select id, 0 as place from responses where waits_for = ? and status = 'queued'
       union all
       select r.id, w.place + 1 from waiting w join responses r on r.waits_for = w.id and r.status = 'queued')
     select r.id from responses r join waiting w on w.id = r.id order by w.place, r.id for update of r`,
    [id],
  );
  return rows.length > 0;
}

/**
 * Releases the responses that waited for this one, in the transaction of its end: each gets its context and its
 * start. If this response was blocked itself, they become blocked by the same response.
 * @returns those that cannot continue, for the caller to end
 */
export async function releaseWaiting(em: EntityManager, parent: Response): Promise<Stopped[]> {
  const stopped: Stopped[] = [];
  // Queried again for each: a waiting response that ends meanwhile leaves those behind it to this one.
  for (let id = await firstWaiting(em, parent); id !== null; id = await firstWaiting(em, parent)) {
    const head = await lockHead(em, id);
    if (head === null || head.response.isTerminal) {
      continue;
    }
    const change = new ResponseChange(head.response);
    const child = change.response;
    const isPassed = child.contextFrom !== parent.id || (await passContext(em, parent, child));
    child.blockedBy = parent.blockedBy ?? null;
    const isTooLong = isPassed && child.blockedBy === null && !(await beginWaiting(em, change, head.now));
    await writeLocked(em, change);
    if (!isPassed) {
      stopped.push(...(await withDependents(em, head.response)));
    } else if (isTooLong) {
      stopped.push({ response: head.response, code: 'context_length_exceeded' });
    }
  }
  return stopped;
}

interface Stopped {
  response: Response;
  code: FailureCode;
}

/** A response whose context is lost, after all that were to continue from it, so that it releases none of them. */
async function withDependents(em: EntityManager, response: Response): Promise<Stopped[]> {
  const lost: Stopped[] = [];
  const dependents = { contextFrom: response.id, finishedAt: null };
  for (const next of await em.find(Response, dependents, { refresh: true })) {
    lost.push(...(await withDependents(em, next)));
  }
  return [...lost, { response, code: 'internal_error' }];
}

/**
 * Adds to its change the start of a response that is no longer blocked. The history of its branch is included and measured later, by its own
 * turn: that can be large, or fail, and must not prevent the end of another response.
 * @returns false if its context is too long
 */
export async function beginWaiting(em: EntityManager, change: ResponseChange, now: Date): Promise<boolean> {
  const { response } = change;
  response.queuedSince = now;
  if (!response.historyDue) {
    const { contextWindow } = await em.findOneOrFail(Model, { id: response.modelId });
    if (await exceeds(em, response.id, contextWindow)) {
      return false;
    }
  }
  change.enqueue(generationStart(response));
  return true;
}

async function firstWaiting(em: EntityManager, { id }: Response): Promise<string | null> {
  const [row] = await em.execute<{ id: string }[]>(
    `select id from responses where waits_for = ? and status = 'queued' order by created_at, id limit 1`,
    [id],
  );
  return row?.id ?? null;
}
