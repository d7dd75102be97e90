import { z } from 'zod';
import { FairSemaphore, TooBusy, type FairLimits } from '#domain/foundation/kernel/fair-semaphore.ts';
import { RecogniserBusy, type NameRecogniser } from '#domain/governance/redaction/found-names.ts';
import type { Finding } from '#domain/governance/recognition/pii-kinds.ts';
import { boundedFetch, type BoundedFetchOptions } from '../egress/bounded-fetch.ts';

/** Offsets count Unicode code points, as Python does. */
const answer = z.array(
  z.looseObject({ entity_type: z.string(), start: z.int().min(0), end: z.int().min(0), score: z.number() }),
);

const minScore = 0.5;

/** Searches of one process at a time; each has one connection. */
const placesOfProcess: FairLimits = { slots: 64, slotsPerKey: 8, waitersPerKey: 32, waitMs: 5_000 };

/** Recognises names with a Presidio analyzer: `POST <url>/analyze`, one text at a time. */
export function createPresidio(options: BoundedFetchOptions, limits = placesOfProcess): NameRecogniser {
  const fetch = boundedFetch('name_recogniser', options);
  const places = new FairSemaphore(limits);
  return {
    find: async (url, language, texts, { tenantId, signal }) => {
      const leave = await places.acquire(tenantId, signal).catch((error: unknown) => {
        throw error instanceof TooBusy ? new RecogniserBusy() : error;
      });
      try {
        const found: Finding[][] = [];
        for (const text of texts) {
          signal.throwIfAborted();
          const response = await fetch(new URL('analyze', url.endsWith('/') ? url : `${url}/`), {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ text, language, entities: ['PERSON'], score_threshold: minScore }),
            signal,
          });
          if (!response.ok) {
            await response.body?.cancel();
            throw new Error('The recogniser of names did not answer as it should.');
          }
          found.push(toFindings(text, answer.parse(await response.json())));
        }
        return found;
      } finally {
        leave();
      }
    },
  };
}

function toFindings(text: string, entities: z.infer<typeof answer>): Finding[] {
  const offsetOf = unitOffsets(text);
  return entities
    .filter(({ entity_type: type, score }) => type === 'PERSON' && score >= minScore)
    .map(({ start, end }) => ({ kind: 'person', start: offsetOf(start), end: offsetOf(end) }));
}

/** Maps offsets in code points to UTF-16 units; most texts have no characters outside the basic plane. */
function unitOffsets(text: string): (characters: number) => number {
  if (!/[\ud800-\udfff]/.test(text)) {
    return (characters) => Math.min(characters, text.length);
  }
  const offsets: number[] = [];
  let at = 0;
  for (const character of text) {
    offsets.push(at);
    at += character.length;
  }
  return (characters) => offsets[characters] ?? text.length;
}
