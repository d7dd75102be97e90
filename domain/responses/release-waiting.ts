import type { EntityManager } from '@mikro-orm/postgresql';
import { Model } from '#domain/models/model.entity.ts';
import { exceeds, passContext } from './context-snapshot.ts';
import { lockHead } from './head.ts';
import { oweGeneration } from './owe-generation.ts';
import type { Response } from './response.entity.ts';

/**
 * Lets the responses go that waited for this one, in the transaction of its end: each gets its context now and
 * its start from the relay. When this one ended while it waited itself, they wait for what it waited for.
 * @returns those whose context has become too long, for the caller to end.
 */
export async function releaseWaiting(em: EntityManager, parent: Response): Promise<Response[]> {
  const tooLong: Response[] = [];
  // Asked for anew each time: one that ends meanwhile leaves those behind it to this one.
  for (let id = await firstWaiting(em, parent); id !== null; id = await firstWaiting(em, parent)) {
    const head = await lockHead(em, id);
    if (head === null || head.response.isTerminal) {
      continue;
    }
    const child = head.response;
    await passContext(em, { id: parent.id, waited: parent.waitsFor != null }, child.id);
    child.waitsFor = parent.waitsFor ?? null;
    if (child.waitsFor === null) {
      child.queuedSince = head.now;
      const model = await em.findOneOrFail(Model, { id: child.modelId });
      if (await exceeds(em, child.id, model.contextWindow)) {
        tooLong.push(child);
      } else {
        await oweGeneration(em, child, { dueNow: true });
      }
    }
    await em.flush();
  }
  return tooLong;
}

async function firstWaiting(em: EntityManager, { id }: Response): Promise<string | null> {
  const [row] = await em.execute<{ id: string }[]>(
    `select id from responses where waits_for = ? and status = 'queued' order by created_at, id limit 1`,
    [id],
  );
  return row?.id ?? null;
}
