import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageComposer, type ComposerOptions } from '#domain/responses/stream/message-composer.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';
import { expectLinear } from '../../../support/growth.ts';

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
    itemId: (prefix, index) => `${prefix}_${index}`,
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

/** `text` split at these positions. */
function cut(text: string, places: number[]): string[] {
  const at = [0, ...places.map((place) => place % (text.length + 1)), text.length].toSorted((a, b) => a - b);
  return at.slice(1).map((end, i) => text.slice(at[i], end));
}

const cuts = fc.array(fc.nat(500), { maxLength: 12 });

describe('the composer', () => {
  it('takes linear time, however long the message is by then', () => {
    expectLinear('a message', {
      make: (size) => Array.from({ length: size / 5 }, () => 'tide '),
      work: (pieces) => compose(pieces),
      size: 200_000,
    });
  });

  it('adds one citation for each known mark, wherever the text is split', () => {
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

  describe('and reasoning', () => {
    const reasoned = (place: number) => ({
      summary: [`thought ${place}`],
      providerState: { kind: 'openai' as const, model: 'm', turn: 0, place },
    });
    const options: ComposerOptions = {
      open: null,
      restart: false,
      nextOutputIndex: 3,
      buffered: false,
      citations,
      itemId: (prefix, index) => `${prefix}_${index}`,
    };
    const open = (text: string) => ({
      item: {
        id: 'msg_2',
        type: 'message' as const,
        status: 'in_progress' as const,
        role: 'assistant' as const,
        content: [],
      },
      outputIndex: 2,
      text,
      annotations: [],
      partOpen: true,
    });
    const added = (events: StreamEvent[]) =>
      events.flatMap((event) =>
        event.type === 'response.output_item.added' ? [`${event.output_index} ${event.item.id}`] : [],
      );

    it('that ended is published with the first text that it led to, before its message', () => {
      const composer = new MessageComposer(options);
      composer.reasoning([reasoned(0), reasoned(1)]);
      expect(composer.text('')).toEqual([]);
      const events = composer.text('Tides');
      expect(added(events)).toEqual(['3 rs_3', '4 rs_4', '5 msg_5']);
      composer.reasoning([reasoned(3)]);
      const { events: last, done } = composer.end({ status: 'completed' });
      expect(added(last)).toEqual(['6 rs_6']);
      expect(done.map(({ item }) => item.id)).toEqual(['rs_3', 'rs_4', 'msg_5', 'rs_6']);
      expect(done.map(({ providerState }) => providerState?.place)).toEqual([0, 1, undefined, 3]);
      expect(composer.nextOutputIndex).toBe(7);
    });

    it('without text is published at the end', () => {
      const composer = new MessageComposer(options);
      composer.reasoning([reasoned(0)]);
      expect(added(composer.end({ status: 'completed' }).events)).toEqual(['3 rs_3']);
    });

    it('waits with a message that is held back', () => {
      const composer = new MessageComposer({ ...options, buffered: true });
      composer.reasoning([reasoned(0)]);
      expect(composer.text('Tides')).toEqual([]);
      expect(added(composer.end({ status: 'completed' }).events)).toEqual(['3 rs_3', '4 msg_4']);
    });

    it('comes after a message that continues, and before its replacement', () => {
      const goesOn = new MessageComposer({ ...options, open: open('The moon ') });
      goesOn.reasoning([reasoned(0)]);
      expect(added(goesOn.text('pulls at the water.'))).toEqual([]);
      expect(added(goesOn.end({ status: 'completed' }).events)).toEqual(['3 rs_3']);
      const startsOver = new MessageComposer({ ...options, open: open('The moon '), restart: true });
      startsOver.reasoning([reasoned(0)]);
      expect(added(startsOver.text('Tides'))).toEqual(['3 rs_3', '4 msg_4']);
      expect(startsOver.end({ status: 'completed' }).done[0]).toMatchObject({
        item: { id: 'msg_2', platform: { superseded_by: 'msg_4' } },
      });
    });

    it('of an attempt that continues replaces the published reasoning, if there is any', () => {
      const known = [0, 1].map((outputIndex) => ({
        outputIndex,
        item: {
          id: `rs_${outputIndex}`,
          type: 'reasoning' as const,
          status: 'completed' as const,
          summary: [],
        },
      }));
      const composer = new MessageComposer({ ...options, open: open('The moon'), repeatedReasoning: known });
      composer.reasoning([reasoned(7)]);
      const { events, done } = composer.end({ status: 'completed' });
      expect(added(events)).toEqual([]);
      expect(done.map(({ item, providerState }) => [item.id, providerState?.place])).toEqual([
        ['rs_0', 7],
        ['msg_2', undefined],
        ['rs_1', undefined],
      ]);
    });
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

  it('opens no item when the model writes nothing', () => {
    expect(compose(['', '']).events).toEqual([]);
  });
});
