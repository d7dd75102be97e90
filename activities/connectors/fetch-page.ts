import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { withStatementTimeout } from '#domain/foundation/persistence/statement-timeout.ts';
import { SourceFailure, type ListedDocument, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { knownDocuments, type KnownDocument } from '#domain/knowledge/synchronisation/known-documents.ts';
import type { Outcome } from '#domain/knowledge/synchronisation/outcome.ts';
import type { PageEnd } from '#domain/knowledge/synchronisation/page-end.ts';
import { storeBatch } from '#domain/knowledge/synchronisation/store-batch.ts';
import { fetchDocument, isFetched, type FetchWork } from './fetch-document.ts';
import { preparedGroups } from './prepared-groups.ts';

/** Documents that are fetched and extracted at the same time. */
const parallel = 4;
/** A batch is stored when it has so many new documents, bytes of them, or documents in all. */
const batch = { stored: 100, bytes: 4_194_304, documents: 500 };
/** Of a statement for a batch, whose documents may have many passages: as for those of an upload. */
const storeTimeoutMs = 30_000;
/** After so many documents in a row that could not be fetched, the source is checked. */
const maxFailures = 5;
/** For those that are tried once more. */
const extraMs = 60_000;

type FailedOutcome = Extract<Outcome, { is: 'failed' }>;

/**
 * Fetches what is new or changed of a page, and stores it batch by batch; a document that was stored in this listing
 * already is not fetched again, unless the page supersedes that with another state of it. Failures in a row are those of
 * the documents when the source answers otherwise. A document that it gave no answer for is tried once more at the end.
 * When the time is over before the page is, what was fetched is stored without the page's end.
 * @throws SourceFailure, also after a page that ended without some of the documents that it repeats
 * @param end null: what is fetched is no page of the listing
 * @param cutEnd ends the page also then; null: another step goes on with it
 */
export async function fetchPage(
  work: FetchWork,
  page: SourcePage,
  { end, cutEnd, endsAt }: { end: PageEnd | null; cutEnd: PageEnd | null; endsAt: number },
): Promise<SyncRun> {
  const { deps, open, signal } = work;
  const { tenantId, connector, run } = open;
  const listed = [...new Map(page.documents.map((each) => [each.ref, each])).values()];
  const refs = listed.map(({ ref }) => ref);
  const known = await deps.unitOfWork.inTenant(tenantId, (em) => knownDocuments(em, connector, refs));
  const fresh = listed.filter((each) => isFresh(each, known.get(each.ref), { run, page, end }));
  const outcomes: Outcome[] = [];
  /** In a row, until another document could be fetched. */
  const unsure: FailedOutcome[] = [];
  const again: FailedOutcome[] = [];
  let [bytes, stored] = [0, 0];
  const store = (last: PageEnd | null) => {
    const { id: runId, pages, listing } = run;
    const made = { runId, pages, listing, outcomes: outcomes.splice(0), end: last };
    return deps.unitOfWork.inTenant(tenantId, async (em) => {
      const after = await withStatementTimeout(em, storeTimeoutMs, () => storeBatch(em, made));
      if (made.outcomes.some(({ is }) => is === 'stored')) {
        // With the documents, so that no end of the step leaves them without vectors.
        await enqueue(
          em,
          signalWithStart('embedSpace', { tenantId, spaceId: connector.spaceId }, 'wake', []),
        );
      }
      return after;
    });
  };
  const isFull = () => stored >= batch.stored || bytes >= batch.bytes || outcomes.length >= batch.documents;
  /** A batch is stored while the next one is fetched. */
  let storing: Promise<unknown> = Promise.resolve();
  const flush = async () => {
    if (isFull()) {
      await storing;
    }
    // Another document's turn may have stored it meanwhile.
    if (isFull()) {
      storing = store(null);
      storing.catch(() => {});
      [bytes, stored] = [0, 0];
    }
  };
  const check = async () => {
    await open.pace(1, signal);
    await open.source.check(signal);
  };
  /** @returns whether that was all before the time was over; some of them are fetched in any case */
  const fetchAll = async (
    documents: readonly ListedDocument[],
    { until, take }: { until: number; take: (outcome: Outcome) => void },
  ): Promise<boolean> => {
    let begun = 0;
    const isOver = () => Date.now() > until;
    for await (const { some, requests } of preparedGroups(work, documents, known)) {
      await open.pace(requests, signal);
      const left = [...some];
      begun += left.length;
      const failures: unknown[] = [];
      const fetchNext = async () => {
        for (let each = left.shift(); each !== undefined; each = left.shift()) {
          const outcome = await fetchDocument(work, each, known.get(each.ref) ?? null);
          if (outcome.is === 'stored') {
            bytes += outcome.read.content.byteLength;
            stored += 1;
          }
          take(outcome);
          if (failures.length > 0 || unsure.length >= maxFailures || isOver()) {
            return;
          }
          await flush();
        }
      };
      while (left.length > 0) {
        const fetchers = Array.from({ length: parallel }, () =>
          fetchNext().catch((reason: unknown) => {
            failures.push(reason);
          }),
        );
        await Promise.all(fetchers);
        if (failures.length > 0) {
          throw failures[0];
        }
        if (unsure.length >= maxFailures) {
          await check();
          outcomes.push(...ownFailures(unsure.splice(0), again));
        }
        if (isOver()) {
          return left.length === 0 && begun === documents.length;
        }
      }
    }
    return true;
  };
  try {
    const take = (outcome: Outcome) => {
      if (outcome.is === 'failed') {
        unsure.push(outcome);
      } else {
        outcomes.push(outcome, ...ownFailures(unsure.splice(0), again));
      }
    };
    const isNew = ({ ref }: ListedDocument) => known.get(ref)?.listing !== run.listing;
    const isWhole = await fetchAll(fresh.filter(isNew), { until: endsAt, take });
    let asksForPause: SourceFailure | null = null;
    if (isWhole) {
      const repeated = fresh.filter((each) => !isNew(each));
      const left = new Map(repeated.map((each) => [each.ref, each]));
      try {
        await fetchAll(repeated, {
          // Without an end: the next step would begin with the same ones.
          until: Infinity,
          take: (outcome) => {
            left.delete(outcome.listed.ref);
            take(outcome);
          },
        });
      } catch (error) {
        // After the pause the limit may be enough for all of them, where others have used all or much of it.
        const isOfOthers = left.size === repeated.length || fresh.length >= 1.5 * repeated.length;
        if (!isPause(error) || (cutEnd === null && isOfOthers)) {
          throw error;
        }
        asksForPause = error;
        outcomes.push(...(await withoutRequests(work, [...left.values()], { known, error })));
      }
    }
    outcomes.push(...ownFailures(unsure.splice(0), again));
    if (asksForPause !== null) {
      outcomes.push(...again);
      await storing;
      await store(end);
      throw asksForPause;
    }
    if (again.length > 0) {
      // The last documents of a page also fail when the source has gone away.
      await check();
      const left = new Map(again.map((failed) => [failed.listed.ref, failed]));
      await fetchAll(
        again.map(({ listed }) => listed),
        {
          until: endsAt + extraMs,
          take: (outcome) => {
            left.delete(outcome.listed.ref);
            outcomes.push(outcome);
          },
        },
      );
      // They have failed once: the next run fetches them.
      outcomes.push(...left.values());
    }
    await storing;
    return await store(isWhole ? end : cutEnd);
  } catch (reason) {
    // Whatever ends the page early: what was fetched of it is stored.
    await storing;
    if (outcomes.length > 0) {
      await store(null);
    }
    throw reason;
  } finally {
    await storing.catch(() => {});
  }
}

/** Whether this listing has not brought the document in this state before. */
function isFresh(
  { version, readers }: ListedDocument,
  known: KnownDocument | undefined,
  { run, page, end }: { run: SyncRun; page: SourcePage; end: PageEnd | null },
): boolean {
  if (known?.listing !== run.listing) {
    return true;
  }
  // What was fetched since the beginning of a listing of one moment is new enough: the next run sees later changes.
  const mayBeOther = page.scope === 'changes' && page.at === undefined;
  const isOther = version === null ? mayBeOther : version !== known.version;
  return (
    end?.supersedes === true && known.state !== 'failed' && (known.isGone || readers !== undefined || isOther)
  );
}

function isPause(error: unknown): error is SourceFailure {
  return error instanceof SourceFailure && error.code === 'rate_limited';
}

/**
 * Documents of a page that this listing has brought before, when the source answers fewer requests than the page needs.
 * The page was listed once more since: what has changed in between may be no change for the checkpoint that follows, so
 * the stored text does not count as read. As failed ones they are fetched by the next run, whatever that lists, and the
 * page ends; with other steps it would not, since each lists it once more.
 */
async function withoutRequests(
  work: FetchWork,
  documents: readonly ListedDocument[],
  { known, error }: { known: ReadonlyMap<string, KnownDocument>; error: SourceFailure },
): Promise<Outcome[]> {
  const { code, message } = error;
  const outcomes: Outcome[] = [];
  for (const listed of documents) {
    const stored = known.get(listed.ref) ?? null;
    outcomes.push(
      isFetched(work, listed, stored)
        ? { is: 'failed', listed, known: stored, code, message }
        : await fetchDocument(work, listed, stored),
    );
  }
  return outcomes;
}

/** @returns failures that are the documents' own; those that got no answer are put into `again` */
function ownFailures(failed: readonly FailedOutcome[], again: FailedOutcome[]): Outcome[] {
  const isUnanswered = ({ code }: FailedOutcome) => code === 'source_unreachable';
  again.push(...failed.filter(isUnanswered));
  return failed.filter((outcome) => !isUnanswered(outcome));
}
