import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageComposer, type ComposerOptions } from '#domain/responses/message-composer.ts';
import type { StreamEvent } from '#domain/responses/stream-events.ts';

const citations = new Map([
  [1, { fileId: 'doc-a', filename: 'a.md', index: 0 }],
  [2, { fileId: 'doc-b', filename: 'b.md', index: 1 }],
]);

function compose(pieces: string[], options: Partial<ComposerOptions> = {}) {
  const composer = new MessageComposer({
    open: null,
    restart: false,
    nextOutputIndex: 0,
    buffered: false,
    citations,
    messageId: (index) => `msg_${index}`,
    ...options,
  });
  const events: StreamEvent[] = pieces.flatMap((piece) => composer.text(piece));
  const live = events.length;
  events.push(...composer.endOfText());
  const { events: last, done } = composer.end({ status: 'completed' });
  return { events: [...events, ...last], live, done };
}

function deltas(events: StreamEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []));
}

/** `text` cut at these places. */
function cut(text: string, places: number[]): string[] {
  const at = [0, ...places.map((place) => place % (text.length + 1)), text.length].toSorted((a, b) => a - b);
  return at.slice(1).map((end, i) => text.slice(at[i], end));
}

const cuts = fc.array(fc.nat(500), { maxLength: 12 });

describe('the composer', () => {
  it('adds one citation for each known mark, wherever the text is cut', () => {
    const text = 'Tides [1] are [2] pulled [1][2], says [3], not [x] nor [12345].';
    fc.assert(
      fc.property(cuts, (places) => {
        const { events, done } = compose(cut(text, places));
        const added = events.flatMap((event) =>
          event.type === 'response.output_text.annotation.added' ? [event.annotation] : [],
        );
        expect(added.map((citation) => [citation.file_id, citation.start_index, citation.end_index])).toEqual(
          [
            ['doc-a', 6, 9],
            ['doc-b', 14, 17],
            ['doc-a', 25, 28],
            ['doc-b', 28, 31],
          ],
        );
        for (const citation of added) {
          expect(text.slice(citation.start_index, citation.end_index)).toMatch(/^\[\d\]$/);
        }
        expect(done[0]!.item).toMatchObject({ content: [{ text, annotations: added }] });
      }),
    );
  });

  it('never publishes half of a surrogate pair, and loses no character', () => {
    const text = fc.array(fc.constantFrom('🌊', '🌕', 'a', ' ', 'é', '中'), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(text, cuts, (characters, places) => {
        const whole = characters.join('');
        const published = deltas(compose(cut(whole, places)).events);
        expect(published.every((delta) => delta.isWellFormed())).toBe(true);
        expect(published.join('')).toBe(whole);
      }),
    );
  });

  it('stores NUL and lone surrogates as U+FFFD', () => {
    expect(deltas(compose(['a\0b', '\uD83Cx', 'end\uD83C']).events).join('')).toBe(
      'a\uFFFDb\uFFFDxend\uFFFD',
    );
  });

  it('publishes nothing of a buffered item before its end', () => {
    const { events, live } = compose(['Whole ', 'or not at all.'], { buffered: true });
    expect(live).toBe(0);
    expect(deltas(events).join('')).toBe('Whole or not at all.');
  });

  it('opens no item when the model says nothing', () => {
    expect(compose(['', '']).events).toEqual([]);
  });
});
