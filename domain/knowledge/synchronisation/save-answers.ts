import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import type { MissingDocument } from './missing-documents.ts';
import { noteErrors, shownRef } from './note-errors.ts';
import { lockRunning } from './running-run.ts';

/** What a source has answered for documents that its listing lacks. */
export interface Answers {
  gone: readonly MissingDocument[];
  there: readonly MissingDocument[];
  /** It gave no answer for them, with the code of the failure. */
  unasked: readonly (Pick<MissingDocument, 'id' | 'ref'> & { code: string })[];
}

/**
 * Stores answers for the rest of the run: no document is asked for twice. What the source could not be asked for stays,
 * and the next run lists everything again. Repeating it changes nothing. @throws RunEnded
 */
export async function saveAnswers(
  em: EntityManager,
  runId: string,
  { gone, there, unasked }: Answers,
): Promise<void> {
  const { connector, run } = await lockRunning(em, runId);
  const answerOf = (was_there: boolean | null) => (each: { id: string }) => ({ id: each.id, was_there });
  const answers = [
    ...gone.map(answerOf(false)),
    ...there.map(answerOf(true)),
    ...unasked.map(answerOf(null)),
  ];
  await em.execute(
    `update source_documents s set asked_listing = ?, was_there = r.was_there
     from jsonb_to_recordset(?::jsonb) as r(id uuid, was_there boolean)
     where s.tenant_id = ${averageUuid} and s.id = r.id and s.asked_listing is distinct from ?`,
    [run.listing, JSON.stringify(answers), connector.tenantId, run.listing],
  );
  if (unasked.length > 0) {
    run.cursorTo = null;
    const isNoted = new Set(run.errors.map(({ ref }) => ref));
    const message = 'The listing lacks it, and the source could not be asked for it.';
    const fresh = unasked.filter(({ ref }) => !isNoted.has(shownRef(ref)));
    noteErrors(
      run,
      fresh.map(({ ref, code }) => ({ ref, code, message })),
    );
  }
  run.updatedAt = new Date();
  await em.flush();
}
