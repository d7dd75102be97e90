import { Context } from '@temporalio/activity';
import { activateGeneration } from '#domain/knowledge/embeddings/activate-generation.ts';
import { embedDocument, type InTransaction } from '#domain/knowledge/embeddings/embed-document.ts';
import { EmbeddingFailure, type Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { FindLists } from '#domain/knowledge/embeddings/find-lists.ts';
import { graphGeneration } from '#domain/knowledge/embeddings/graph-generation.ts';
import type { LiveGeneration } from '#domain/knowledge/embeddings/live-generations.ts';
import { markEmbedded } from '#domain/knowledge/embeddings/mark-embedded.ts';
import { noteFailure, noteProgress } from '#domain/knowledge/embeddings/note-progress.ts';
import { partitionGeneration } from '#domain/knowledge/embeddings/partition-generation.ts';
import { calibrate, ensureLive } from '#domain/knowledge/embeddings/start-generation.ts';
import { nextToEmbed, type UnembeddedDocument } from '#domain/knowledge/embeddings/unembedded-documents.ts';
import { embeddingFaults, type EmbeddingFault } from '#domain/knowledge/collections/document-status.ts';
import type { EmbedSpaceInput, EmbedSpaceResult } from '#workflows/embed-space/messages.ts';
import { busyPauseMs } from '../busy-pause.ts';
import { retryLater } from '../failures.ts';
import { sliceMs, type EmbeddingDependencies } from './embed-document.ts';
import { takeTurns } from './take-turns.ts';

interface Slice {
  inTransaction: InTransaction;
  embedders: Embedders;
  findLists: FindLists | undefined;
  tenantId: string;
  spaceId: string;
  signal: AbortSignal;
  onReused: ((passages: number) => Promise<void>) | undefined;
  isOver: () => boolean;
}

/**
 * Embeds documents of a space for up to half a minute: first those that the active generation lacks, then those of the
 * generation that is built, which is activated at the end. Vectors of a large space are divided into lists, and those of
 * its active generation put into a graph where the database has the extension for it. All of it may be repeated.
 */
export async function embedSpace(
  { unitOfWork, embedders, findLists, reuse }: EmbeddingDependencies,
  { tenantId, spaceId }: EmbedSpaceInput,
  signal: AbortSignal,
): Promise<EmbedSpaceResult> {
  if (embedders === undefined) {
    return { state: 'idle' };
  }
  const end = Date.now() + sliceMs;
  const slice: Slice = {
    inTransaction: (work) => unitOfWork.inTenant(tenantId, work),
    embedders,
    findLists,
    tenantId,
    spaceId,
    signal,
    onReused: reuse && takeTurns(reuse, tenantId, signal),
    isOver: () => Date.now() > end,
  };
  let targets: LiveGeneration[];
  try {
    targets = await ensureLive(slice);
  } catch (error) {
    return waitFor(error);
  }
  let failure: EmbeddingFailure | null = null;
  for (const target of targets) {
    try {
      if (!(await (target.generation.state === 'active' ? embedPending : build)(slice, target))) {
        return { state: 'more' };
      }
    } catch (error) {
      if (!(error instanceof EmbeddingFailure)) {
        throw error;
      }
      const { code } = error;
      if (code !== 'busy') {
        await slice.inTransaction((em) => noteFailure(em, target.generation.id, code));
      }
      // Goes on: a model that no longer answers is replaced by another.
      failure ??= error;
    }
  }
  return failure === null ? { state: 'idle' } : waitFor(failure);
}

/** @returns whether no document is left */
async function embedPending(slice: Slice, target: LiveGeneration): Promise<boolean> {
  const isEmbedded = await embedEach(slice, target, null, async (document, fault) => {
    const embedded = { ...document, tenantId: slice.tenantId, embeddingId: target.generation.id, fault };
    await slice.inTransaction((em) => markEmbedded(em, embedded));
  });
  return isEmbedded && (await divide(slice, target)) && (await graphGeneration({ ...slice, target }));
}

/** @returns whether nothing is left to do */
async function divide({ findLists, ...slice }: Slice, target: LiveGeneration): Promise<boolean> {
  return findLists === undefined || partitionGeneration({ ...slice, findLists, target });
}

/** @returns whether nothing is left to do: after the activation, documents that were stored meanwhile may be */
async function build(slice: Slice, given: LiveGeneration): Promise<boolean> {
  const { inTransaction, tenantId, spaceId, signal } = slice;
  const embeddingId = given.generation.id;
  const target = await calibrate(inTransaction, given, slice.embedders.of(given.model), signal);
  if (target === null) {
    return true;
  }
  const through = target.generation.doneThrough ?? null;
  const done = await embedEach(slice, target, through, async ({ documentId }) => {
    if (!(await inTransaction((em) => noteProgress(em, embeddingId, documentId)))) {
      throw new Cancelled();
    }
  }).catch((error: unknown) => {
    if (error instanceof Cancelled) {
      return null;
    }
    throw error;
  });
  if (done === true && (await divide(slice, target))) {
    await inTransaction((em) => activateGeneration(em, { tenantId, spaceId, embeddingId }));
  }
  return done === null;
}

class Cancelled extends Error {}

async function embedEach(
  slice: Slice,
  target: LiveGeneration,
  through: string | null,
  finish: (document: UnembeddedDocument, fault: EmbeddingFault | null) => Promise<void>,
): Promise<boolean> {
  const { inTransaction, embedders, tenantId, signal, onReused, isOver } = slice;
  const embedder = embedders.of(target.model);
  let last: Promise<UnembeddedDocument | null> = Promise.resolve(null);
  let after = through;
  let finished = 0;
  const next = () =>
    (last = last.then(async () => {
      const document = await inTransaction((em) => nextToEmbed(em, slice, target.generation, after));
      after = document?.documentId ?? after;
      return document;
    }));
  const lane = async (): Promise<boolean> => {
    for (let document = await next(); document !== null; document = await next()) {
      const work = { target, embedder, document: { tenantId, ...document }, signal, onReused, isOver };
      const embedded = await embedDocument(inTransaction, work).catch(faultOf);
      if (embedded === false) {
        return false;
      }
      await finish(document, embedded === true ? null : embedded);
      finished += 1;
      if (isOver()) {
        return false;
      }
    }
    return true;
  };
  const ended = await Promise.allSettled(Array.from({ length: lanesOf(target) }, lane));
  const failed = ended.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') {
    const isBusy = failed.reason instanceof EmbeddingFailure && failed.reason.code === 'busy';
    if (isBusy && finished > 0) {
      // The next slice goes on where this one has not failed: its pauses grow only where nothing is done.
      return false;
    }
    throw failed.reason;
  }
  return ended.every((each) => each.status === 'fulfilled' && each.value);
}

/**
 * Documents that are embedded at once: while one is stored, the model embeds the other. Of a generation that is built,
 * documents are done in their order, as the place of the next one is stored.
 */
const lanesOf = ({ generation }: LiveGeneration): number => (generation.state === 'active' ? 2 : 1);

/** A document that the model cannot embed does not hold up those behind it. @throws any other failure */
function faultOf(error: unknown): EmbeddingFault {
  const fault = error instanceof EmbeddingFailure && embeddingFaults.find((code) => code === error.code);
  if (typeof fault !== 'string') {
    throw error;
  }
  return fault;
}

/** Attempts at the pace of the workflow's retries: about ten minutes of them. */
const quickAttempts = 20;
const longPauseMs = 120_000;
/** About half an hour: meanwhile each document that is ready signals the workflow, whose history has a limit. */
const maxAttempts = 30;

/**
 * A model that does not answer is asked again by the workflow: after a long time rarely, since many spaces may wait.
 * @returns after many attempts, so that the workflow may continue as a new one
 */
function waitFor(error: unknown): EmbedSpaceResult {
  if (!(error instanceof EmbeddingFailure)) {
    throw error;
  }
  const { attempt } = Context.current().info;
  if (attempt >= maxAttempts) {
    return { state: 'more' };
  }
  if (error.code === 'busy') {
    throw retryLater('embedder_busy', busyPauseMs(attempt));
  }
  const pauseMs = attempt > quickAttempts ? longPauseMs * (0.75 + Math.random() / 2) : 0;
  const delayMs = Math.round(Math.max(error.retryAfterMs ?? 0, pauseMs));
  throw retryLater(error.code, delayMs === 0 ? undefined : delayMs);
}
