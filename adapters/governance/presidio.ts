import { z } from 'zod';
import type { NameRecogniser } from '#domain/governance/redaction/found-names.ts';
import type { Finding } from '#domain/governance/recognition/pii-kinds.ts';
import { boundedFetch, type BoundedFetchOptions } from '../egress/bounded-fetch.ts';

/** Offsets count Unicode code points, as Python does. */
const answer = z.array(
  z.looseObject({ entity_type: z.string(), start: z.int().min(0), end: z.int().min(0), score: z.number() }),
);

const minScore = 0.5;

/** Recognises names with a Presidio analyzer: `POST <url>/analyze`, one text at a time. */
export function createPresidio(options: BoundedFetchOptions): NameRecogniser {
  const fetch = boundedFetch('name_recogniser', options);
  return {
    find: async (url, language, texts) => {
      const found: Finding[][] = [];
      for (const text of texts) {
        const response = await fetch(new URL('analyze', url.endsWith('/') ? url : `${url}/`), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ text, language, entities: ['PERSON'], score_threshold: minScore }),
        });
        if (!response.ok) {
          await response.body?.cancel();
          throw new Error('The recogniser of names did not answer as it should.');
        }
        found.push(toFindings(text, answer.parse(await response.json())));
      }
      return found;
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
