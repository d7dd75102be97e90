import type { EntityManager } from '@mikro-orm/postgresql';
import { Model } from '#domain/models/model.entity.ts';
import { exceeds, passContext } from './context-snapshot.ts';
import { lockHead } from './head.ts';
import { oweGeneration } from './owe-generation.ts';
import { Response } from './response.entity.ts';

/**
 * Lets the responses go that waited for this one, in the transaction of its end: each gets its context now and
 * its start from the relay.
 * @returns those whose context has become too long, for the caller to end.
 */
export async function releaseWaiting(em: EntityManager, parent: Response): Promise<Response[]> {
  const tooLong: Response[] = [];
  const waiting = await em.find(
    Response,
    { waitsFor: parent.id, status: 'queued' },
    { orderBy: { createdAt: 'asc' } },
  );
  for (const { id } of waiting) {
    const head = await lockHead(em, id);
    if (head === null || head.response.isTerminal) {
      continue;
    }
    const child = head.response;
    child.queuedSince = head.now;
    const model = await em.findOneOrFail(Model, { id: child.modelId });
    await passContext(em, parent.id, child.id);
    child.waitsFor = null;
    if (await exceeds(em, child.id, model.contextWindow)) {
      tooLong.push(child);
    } else {
      await oweGeneration(em, child, { dueNow: true });
    }
  }
  return tooLong;
}
