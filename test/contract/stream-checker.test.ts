import { describe, expect, test } from 'vitest';
import { DONE, encodeFrame, RETRY, StreamBuilder } from '../support/stream-builder.ts';
import type { BuiltFrame } from '../support/stream-builder.ts';
import { checkStream } from '../support/stream-checker.ts';
import type { CheckedStream } from '../support/stream-checker.ts';
import { asList, asObject } from '../support/stream-events.ts';
import type { Json } from '../support/stream-events.ts';

const ID = 'resp_abc';
const citation = { type: 'file_citation', file_id: 'file_1', filename: 'Überblick.md', index: 0 };

/** Two iterations: a search and a call; then an abandoned message and its replacement. */
function build(): StreamBuilder {
  const stream = new StreamBuilder(ID);
  stream.created();
  stream.iteration();
  stream.search(['what survives?']);
  stream.call('lookup', '{"query":"né"}');
  stream.iteration();
  stream.message(['Half of an ', 'ans'], { supersededBy: StreamBuilder.itemId('msg', 3) });
  stream.message(['It survives 👩‍👩', '‍👧 né\n\n', 'and \u2028 "goes" on [1].'], { annotations: [citation] });
  stream.completed();
  return stream;
}

/** Everything that a test may corrupt before the check. */
interface Made extends Omit<CheckedStream, 'segments' | 'replays'> {
  frames: BuiltFrame[];
  tail: string;
  replay: string;
}

function make(): Made {
  const stream = build();
  const frames = structuredClone(stream.frames);
  const replay = `${frames.map(encodeFrame).join(': keep-alive\n\n')}${DONE}`;
  return { responseId: ID, frames, tail: DONE, replay, final: stream.response('completed'), snapshots: [] };
}

const bytes = (text: string) => new TextEncoder().encode(text);

function check({ frames, tail, replay, ...rest }: Made) {
  const whole = `${RETRY}${frames.map(encodeFrame).join('')}${tail}`;
  return checkStream({
    ...rest,
    segments: [{ cursor: null, bytes: bytes(whole) }],
    replays: [bytes(replay)],
  });
}

function violated(made: Made): string[] {
  return [...new Set(check(made).map(({ invariant }) => invariant))].sort();
}

/** The event of this type; of several the last one. */
function last({ frames }: Made, type: string): BuiltFrame {
  return frames.findLast(({ event }) => event === type)!;
}

/** Renumbers all frames, and gives the replay the same bytes, so that only the change itself is wrong. */
function renumber(made: Made): void {
  made.frames.forEach((frame, n) => {
    frame.id = `${ID}:${n}`;
    frame.data['sequence_number'] = n;
  });
  resync(made);
}

function resync(made: Made): void {
  made.replay = `${made.frames.map(encodeFrame).join('')}${made.tail}`;
}

function remove(made: Made, type: string, pick: (data: Json) => boolean = () => true): void {
  const at = made.frames.findLastIndex(({ event, data }) => event === type && pick(data));
  made.frames.splice(at, 1);
  renumber(made);
}

function move(made: Made, type: string, by: number): void {
  const at = made.frames.findLastIndex(({ event }) => event === type);
  const [frame] = made.frames.splice(at, 1);
  made.frames.splice(at + by, 0, frame!);
  renumber(made);
}

function insert(made: Made, at: number, event: string, payload: Json): void {
  made.frames.splice(at, 0, { id: null, event, data: { type: event, sequence_number: 0, ...payload } });
  renumber(made);
}

const outputOf = (frame: BuiltFrame) => asList(asObject(frame.data['response'])['output']);
const setOutput = (frame: BuiltFrame, output: Json[]) => {
  asObject(frame.data['response'])['output'] = output;
};
const firstPart = (item: unknown) => asList(asObject(item)['content'])[0]!;
const snapshot = (status: string, output: Json[], iterations = 2) => ({
  id: ID,
  status,
  output,
  platform: { iteration_count: iterations },
});
/** The number of the last event of this type. */
const numberOf = (made: Made, type: string) => Number(last(made, type).data['sequence_number']);

describe('a right stream', () => {
  test('passes, read in one connection', () => {
    expect(check(make())).toEqual([]);
  });

  test('passes in segments cut at any byte, resumed from the last whole event or from an older one', () => {
    const { frames, final } = make();
    const texts = frames.map(encodeFrame);
    const whole = bytes(`${RETRY}${texts.join('')}${DONE}`);
    for (let cut = RETRY.length + texts[0]!.length; cut < whole.length - DONE.length; cut += 37) {
      const first = whole.subarray(0, cut);
      const seen = new TextDecoder()
        .decode(first)
        .split('\n\n')
        .filter((block) => block.startsWith('id: '));
      const cutOff = !new TextDecoder().decode(first).endsWith('\n\n');
      const known = seen.length - (cutOff && seen.length > 0 ? 1 : 0);
      for (const from of [known - 1, Math.max(0, known - 3)]) {
        const rest = bytes(`${RETRY}: keep-alive\n\n${texts.slice(from + 1).join('')}${DONE}`);
        const segments = [
          { cursor: null, bytes: first },
          { cursor: `${ID}:${from}`, bytes: rest },
        ];
        expect(checkStream({ responseId: ID, segments, final: final! })).toEqual([]);
      }
    }
  });

  test('passes when the last connection contains only [DONE], or nothing, after the terminal event', () => {
    const { frames } = make();
    const first = { cursor: null, bytes: bytes(frames.map(encodeFrame).join('')) };
    const cursor = `${ID}:${frames.length - 1}`;
    expect(checkStream({ responseId: ID, segments: [first, { cursor, bytes: bytes(DONE) }] })).toEqual([]);
    expect(checkStream({ responseId: ID, segments: [first, { cursor, bytes: bytes('') }] })).toEqual([]);
  });

  test('passes with reads that show the state after each event', () => {
    const made = make();
    const [search, call, message] = outputOf(last(made, 'response.completed')) as [Json, Json, Json];
    const delta = numberOf(made, 'response.output_text.delta');
    const partial = {
      ...message,
      status: 'in_progress',
      content: [{ ...firstPart(message), annotations: [] }],
    };
    made.snapshots = [
      { afterN: 0, response: snapshot('queued', [], 0) },
      { afterN: 0, response: snapshot('completed', [search, call, message]) },
      { afterN: delta, response: snapshot('in_progress', [search, call, partial]) },
      { afterN: made.frames.length - 1, response: made.final! },
    ];
    expect(check(made)).toEqual([]);
    made.snapshots = [{ afterN: delta, response: snapshot('in_progress', [search, call]) }];
    expect(check({ ...made, openItems: 'hidden' })).toEqual([]);
  });

  test('may end with an error event that has no id, and needs no terminal event then', () => {
    const made = make();
    made.frames.splice(-1, 1, {
      id: null,
      event: 'error',
      data: {
        type: 'error',
        sequence_number: made.frames.length - 2,
        error: { type: 'server_error', code: 'x' },
      },
    });
    made.tail = '';
    made.replay = made.frames.slice(0, -1).map(encodeFrame).join('');
    expect(check(made)).toEqual([]);
  });

  test('may have platform events only when they were requested', () => {
    const made = make();
    insert(made, 5, 'platform.note', {});
    expect(check({ ...made, platformEvents: true })).toEqual([]);
    expect(violated(made)).toEqual(['O9']);
  });

  test('that was given up before its end needs no terminal event', () => {
    const made = make();
    made.frames.splice(-4);
    made.tail = '';
    expect(check({ ...made, complete: false })).toEqual([]);
    expect(violated(made)).toEqual(['O4']);
  });
});

/** The completed message, in the terminal event and in the final read. */
function shownMessages(made: Made): Json[] {
  const outputs = [outputOf(last(made, 'response.completed')), asList(made.final!['output'])];
  return [
    asObject(last(made, 'response.output_item.done').data['item']),
    ...outputs.map((items) => items.at(-1)!),
  ];
}

/** Repeats an event, with some fields changed, `by` positions after itself. */
function repeat(made: Made, type: string, { by, change = {} }: { by: number; change?: Json }): void {
  const at = made.frames.findLastIndex(({ event }) => event === type);
  insert(made, at + by, type, { ...structuredClone(made.frames[at]!.data), ...change });
}

type Corruption = [invariant: string, what: string, corrupt: (made: Made) => void];

const corruptions: Corruption[] = [
  [
    'O1',
    'response.created as completed',
    (made) => {
      asObject(last(made, 'response.created').data['response'])['status'] = 'completed';
      resync(made);
    },
  ],
  [
    'O1',
    'response.created twice',
    (made) => insert(made, 1, 'response.created', { response: snapshot('queued', [], 0) }),
  ],
  ['O1', 'response.created not first', (made) => move(made, 'response.created', 1)],
  ['O1', 'no response.created', (made) => remove(made, 'response.created')],
  [
    'O1',
    'response.created of another response',
    (made) => {
      asObject(last(made, 'response.created').data['response'])['id'] = 'resp_other';
      resync(made);
    },
  ],

  [
    'O2',
    'two items of one id',
    (made) => {
      const rename = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('fc_1', 'fs_0')) as T;
      made.frames = rename(made.frames);
      made.final = rename(made.final!);
      resync(made);
    },
  ],
  [
    'O2',
    'an item that is added as completed',
    (made) => {
      asObject(last(made, 'response.output_item.added').data['item'])['status'] = 'completed';
      resync(made);
    },
  ],
  [
    'O2',
    'an item that is done as in_progress',
    (made) => {
      for (const message of shownMessages(made)) message['status'] = 'in_progress';
      resync(made);
    },
  ],
  [
    'O2',
    'an item that changes its type',
    (made) => {
      asObject(last(made, 'response.output_item.added').data['item'])['type'] = 'reasoning';
      resync(made);
    },
  ],
  ['O2', 'an event behind its done item', (made) => move(made, 'response.file_search_call.completed', 1)],
  [
    'O2',
    'a content index left out',
    (made) => {
      last(made, 'response.content_part.added').data['content_index'] = 1;
      resync(made);
    },
  ],
  ['O2', 'a part closed twice', (made) => repeat(made, 'response.content_part.done', { by: 1 })],
  ['O2', 'an item done with an open part', (made) => remove(made, 'response.content_part.done')],
  ['O2', 'a delta behind its closed part', (made) => repeat(made, 'response.output_text.delta', { by: 4 })],
  [
    'O2',
    'an annotation behind its closed part',
    (made) => {
      repeat(made, 'response.output_text.annotation.added', { by: 3, change: { annotation_index: 1 } });
    },
  ],
  [
    'O2',
    'an annotation index left out',
    (made) => {
      last(made, 'response.output_text.annotation.added').data['annotation_index'] = 1;
      resync(made);
    },
  ],
  [
    'O2',
    'an output index left out',
    (made) => {
      for (const { data } of made.frames) if (data['output_index'] === 3) data['output_index'] = 4;
      resync(made);
    },
  ],
  ['O2', 'an item done before its part', (made) => move(made, 'response.content_part.done', 1)],
  [
    'O2',
    'an item that is never done',
    (made) => {
      remove(made, 'response.output_item.done', ({ output_index }) => output_index === 0);
      for (const response of [asObject(last(made, 'response.completed').data['response']), made.final!]) {
        response['output'] = asList(response['output']).slice(1);
      }
      resync(made);
    },
  ],
  [
    'O2',
    'an event before its item is added',
    (made) => move(made, 'response.file_search_call.in_progress', -1),
  ],
  ['O2', 'a part closed without its done text', (made) => remove(made, 'response.output_text.done')],
  [
    'O2',
    'an item whose index is added twice',
    (made) => {
      const again = structuredClone(last(made, 'response.output_item.added').data);
      insert(made, made.frames.length - 1, 'response.output_item.added', { ...again, output_index: 0 });
    },
  ],
  [
    'O2',
    'a tool call that goes back to searching',
    (made) => move(made, 'response.file_search_call.searching', 1),
  ],
  [
    'O2',
    'an event with the id of another item',
    (made) => {
      last(made, 'response.output_text.done').data['item_id'] = 'msg_2';
      resync(made);
    },
  ],

  [
    'O3',
    'a message shown without its part',
    (made) => {
      for (const message of shownMessages(made)) message['content'] = [];
      resync(made);
    },
  ],
  [
    'O3',
    'other arguments in every form of the done item',
    (made) => {
      const done = made.frames.find(
        ({ event, data }) => event === 'response.output_item.done' && data['output_index'] === 1,
      )!;
      const outputs = [outputOf(last(made, 'response.completed')), asList(made.final!['output'])];
      for (const item of [asObject(done.data['item']), ...outputs.map((items) => items[1]!)])
        item['arguments'] = '{}';
      resync(made);
    },
  ],
  ['O3', 'a delta lost', (made) => remove(made, 'response.output_text.delta')],
  [
    'O3',
    'a delta twice under new numbers',
    (made) => {
      const at = made.frames.findLastIndex(({ event }) => event === 'response.output_text.delta');
      made.frames.splice(at, 0, structuredClone(made.frames[at]!));
      renumber(made);
    },
  ],
  [
    'O3',
    'an abandoned item with a delta lost',
    (made) => {
      remove(made, 'response.output_text.delta', ({ output_index }) => output_index === 2);
    },
  ],
  [
    'O3',
    'another text in the part',
    (made) => {
      asObject(last(made, 'response.content_part.done').data['part'])['text'] = 'It survives';
      resync(made);
    },
  ],
  [
    'O3',
    'another text in the terminal output',
    (made) => {
      firstPart(outputOf(last(made, 'response.completed')).at(-1))['text'] = 'It survives';
      resync(made);
    },
  ],
  [
    'O3',
    'another text in the final read',
    (made) => {
      firstPart(asList(made.final!['output']).at(-1))['text'] = 'It survives';
    },
  ],
  [
    'O3',
    'other arguments than their deltas',
    (made) => {
      last(made, 'response.function_call_arguments.done').data['arguments'] = '{}';
      resync(made);
    },
  ],
  ['O3', 'an annotation lost', (made) => remove(made, 'response.output_text.annotation.added')],

  [
    'O4',
    'no [DONE]',
    (made) => {
      made.tail = '';
    },
  ],
  [
    'O4',
    'no terminal event',
    (made) => {
      made.frames.pop();
      resync(made);
    },
  ],
  [
    'O4',
    'two terminal events',
    (made) => {
      insert(made, made.frames.length, 'response.completed', { response: made.final! });
    },
  ],
  [
    'O4',
    'an event behind the terminal one',
    (made) => {
      insert(made, made.frames.length, 'response.in_progress', { response: snapshot('in_progress', []) });
    },
  ],
  [
    'O4',
    'a frame behind [DONE]',
    (made) => {
      made.tail = `${DONE}: keep-alive\n\n`;
    },
  ],
  [
    'O4',
    'a terminal event of another status than its response',
    (made) => {
      asObject(last(made, 'response.completed').data['response'])['status'] = 'failed';
      made.final!['status'] = 'failed';
      resync(made);
    },
  ],

  [
    'O5',
    'a superseded item that is not incomplete',
    (made) => {
      const abandoned = made.frames.find(
        ({ event, data }) => event === 'response.output_item.done' && data['output_index'] === 2,
      )!;
      asObject(abandoned.data['item'])['status'] = 'completed';
      resync(made);
    },
  ],
  [
    'O5',
    'a done item missing in the terminal output',
    (made) => {
      const frame = last(made, 'response.completed');
      setOutput(frame, outputOf(frame).slice(1));
      resync(made);
    },
  ],
  [
    'O5',
    'the terminal output in another order',
    (made) => {
      const frame = last(made, 'response.completed');
      setOutput(frame, outputOf(frame).toReversed());
      resync(made);
    },
  ],
  [
    'O5',
    'the superseded item in the terminal output',
    (made) => {
      const abandoned = made.frames.find(
        ({ event, data }) => event === 'response.output_item.done' && data['output_index'] === 2,
      )!;
      const frame = last(made, 'response.completed');
      setOutput(frame, outputOf(frame).toSpliced(2, 0, asObject(abandoned.data['item'])));
      resync(made);
    },
  ],
  [
    'O5',
    'an item with other fields than when it was done',
    (made) => {
      outputOf(last(made, 'response.completed'))[0]!['queries'] = ['other'];
      resync(made);
    },
  ],
  [
    'O5',
    'an item superseded by one that never came',
    (made) => {
      const abandoned = made.frames.find(
        ({ event, data }) => event === 'response.output_item.done' && data['output_index'] === 2,
      )!;
      asObject(abandoned.data['item'])['platform'] = { superseded_by: 'msg_9' };
      resync(made);
    },
  ],
  [
    'O5',
    'the final read without an item',
    (made) => {
      made.final!['output'] = asList(made.final!['output']).slice(0, -1);
    },
  ],

  [
    'O6',
    'a read with another form of a done item',
    (made) => {
      const [search] = structuredClone(outputOf(last(made, 'response.completed')));
      made.snapshots = [
        { afterN: 6, response: snapshot('in_progress', [{ ...search, status: 'in_progress' }]) },
      ];
    },
  ],
  [
    'O6',
    'a read that is still queued after in_progress',
    (made) => {
      made.snapshots = [{ afterN: 1, response: snapshot('queued', [], 1) }];
    },
  ],
  [
    'O6',
    'a read that is in progress after the end',
    (made) => {
      made.snapshots = [
        {
          afterN: made.frames.length - 1,
          response: snapshot('in_progress', outputOf(last(made, 'response.completed'))),
        },
      ];
    },
  ],
  [
    'O6',
    'a read without an item that was done',
    (made) => {
      made.snapshots = [
        {
          afterN: numberOf(made, 'response.function_call_arguments.done') + 1,
          response: snapshot('in_progress', outputOf(last(made, 'response.completed')).slice(0, 1)),
        },
      ];
    },
  ],
  [
    'O6',
    'a read with less text than was streamed',
    (made) => {
      const [search, call, message] = structuredClone(outputOf(last(made, 'response.completed'))) as [
        Json,
        Json,
        Json,
      ];
      firstPart(message)['text'] = 'It survives 👩‍👩‍👧';
      made.snapshots = [
        {
          afterN: numberOf(made, 'response.output_text.delta'),
          response: snapshot('in_progress', [search, call, message]),
        },
      ];
    },
  ],
  [
    'O6',
    'a read without the item that is being written',
    (made) => {
      made.snapshots = [
        {
          afterN: numberOf(made, 'response.output_text.delta'),
          response: snapshot('in_progress', outputOf(last(made, 'response.completed')).slice(0, 2)),
        },
      ];
    },
  ],
  [
    'O6',
    'a read of an earlier iteration',
    (made) => {
      const output = outputOf(last(made, 'response.completed')).slice(0, 2);
      made.snapshots = [
        { afterN: numberOf(made, 'response.in_progress'), response: snapshot('in_progress', output, 1) },
      ];
    },
  ],
  [
    'O6',
    'a final read of another status',
    (made) => {
      made.final!['status'] = 'in_progress';
    },
  ],

  [
    'O7',
    'a replay with bytes behind [DONE]',
    (made) => {
      made.replay += 'data:';
    },
  ],
  [
    'O7',
    'a replay with other white space',
    (made) => {
      made.replay = made.replay.replace('"sequence_number":4,', '"sequence_number":4, ');
    },
  ],
  [
    'O7',
    'a replay that merges two deltas',
    (made) => {
      made.replay = made.replay.replace('"delta":"Half of an "', '"delta":"Half of an ans"');
    },
  ],
  [
    'O7',
    'a replay that ends early',
    (made) => {
      made.replay = made.replay.slice(0, -DONE.length);
    },
  ],
  [
    'O7',
    'a replay with the keys in another order',
    (made) => {
      made.replay = made.replay.replace(/("item_id":"fs_0"),("output_index":0)/, '$2,$1');
    },
  ],

  [
    'O8',
    'a failure told at the top of its event',
    (made) => {
      last(made, 'response.completed').data['error'] = { code: 'x' };
      resync(made);
    },
  ],
  [
    'O8',
    'a top-level error that is null',
    (made) => {
      last(made, 'response.output_text.delta').data['error'] = null;
      resync(made);
    },
  ],

  ['O9', 'a type of another vendor', (made) => insert(made, 3, 'response.resumed', {})],
  ['O9', 'raw reasoning', (made) => insert(made, 3, 'response.reasoning_text.delta', { delta: 'hm' })],
  ['O9', 'a keepalive event', (made) => insert(made, 3, 'keepalive', {})],

  [
    'O10',
    'an error event with an id',
    (made) => {
      const data = { type: 'error', sequence_number: 3, error: { code: 'x' } };
      made.frames.splice(4, 0, { id: `${ID}:4`, event: 'error', data });
    },
  ],
  [
    'O10',
    'an error event with a number of its own',
    (made) => {
      const data = { type: 'error', sequence_number: 4, error: { code: 'x' } };
      made.frames.splice(4, 0, { id: null, event: 'error', data });
    },
  ],
  [
    'O10',
    'a number left out',
    (made) => {
      made.frames.splice(numberOf(made, 'response.in_progress'), 1);
      resync(made);
    },
  ],
  [
    'O10',
    'an event twice',
    (made) => {
      made.frames.splice(4, 0, structuredClone(made.frames[4]!));
      made.replay = make().replay;
    },
  ],
  [
    'O10',
    'an id of another response',
    (made) => {
      made.frames[4]!.id = 'resp_other:4';
      resync(made);
    },
  ],
  [
    'O10',
    'a sequence number other than the id',
    (made) => {
      made.frames[4]!.data['sequence_number'] = 5;
      resync(made);
    },
  ],
  [
    'O10',
    'an event without id',
    (made) => {
      made.frames[4]!.id = null;
      resync(made);
    },
  ],
];

describe('a corrupted stream is reported under exactly its name:', () => {
  test.each(corruptions)('%s %s', (invariant, _, corrupt) => {
    const made = make();
    corrupt(made);
    expect(violated(made)).toEqual([invariant]);
  });

  test('every invariant has at least two corrupted streams', () => {
    const counts = Object.groupBy(corruptions, ([invariant]) => invariant);
    const names = Array.from({ length: 10 }, (_, i) => `O${i + 1}`);
    expect(names.filter((name) => (counts[name]?.length ?? 0) < 2)).toEqual([]);
  });
});

describe('the seam between two connections', () => {
  const resumed = (from: number, to: number, cursor = from): CheckedStream => {
    const { frames } = make();
    const texts = frames.map(encodeFrame);
    return {
      responseId: ID,
      segments: [
        { cursor: null, bytes: bytes(texts.slice(0, from + 1).join('')) },
        { cursor: `${ID}:${cursor}`, bytes: bytes(`${texts.slice(to).join('')}${DONE}`) },
      ],
    };
  };
  // An event without text or item, so that only its number can show the fault.
  const silent = make().frames.findLastIndex(({ event }) => event === 'response.in_progress');

  test('is right when the next event follows', () => {
    expect(checkStream(resumed(silent, silent + 1))).toEqual([]);
  });

  test('is O10 when the event at the cursor comes again', () => {
    expect(checkStream(resumed(silent, silent))).toMatchObject([{ invariant: 'O10', at: silent + 1 }]);
  });

  test('is O10 when the first event after the cursor is missing', () => {
    expect(checkStream(resumed(silent - 1, silent + 1))).toMatchObject([{ invariant: 'O10', at: silent }]);
  });

  test('is O10 when the client resumed beyond its last event', () => {
    expect(checkStream(resumed(silent - 1, silent + 1, silent))).toMatchObject([
      { invariant: 'O10', at: silent },
    ]);
  });

  test('is O4 when the first connection says [DONE] before the terminal event', () => {
    const stream = resumed(silent, silent + 1);
    const first = stream.segments[0]!;
    first.bytes = bytes(new TextDecoder().decode(first.bytes) + DONE);
    expect(checkStream(stream)).toMatchObject([{ invariant: 'O4', at: silent }]);
  });

  test('is O7 when a received event comes again with other bytes', () => {
    const stream = resumed(6, 5, 4);
    const second = stream.segments[1]!;
    second.bytes = bytes(
      new TextDecoder().decode(second.bytes).replace('"output_index":0', '"output_index": 0'),
    );
    expect(checkStream(stream)).toMatchObject([{ invariant: 'O7', at: 5 }]);
  });
});

describe('bytes that are no frames', () => {
  test.each<[string, (whole: string) => string]>([
    ['CR LF line ends', (whole) => whole.replaceAll('\nevent:', '\r\nevent:')],
    ['lines in another order', (whole) => whole.replace(/id: (.*)\nevent: (.*)\n/, 'event: $2\nid: $1\n')],
    ['no space behind the colon', (whole) => whole.replace('data: {', 'data:{')],
    [
      'a sequence number that is not second',
      (whole) => whole.replace(/("sequence_number":0),("response":.*)}\n/, '$2,$1}\n'),
    ],
    ['a retry line in the middle', (whole) => whole.replace('\n\nid:', '\n\nretry: 2000\n\nid:')],
    ['another retry time', (whole) => `retry: 1000\n\n${whole}`],
    ['another comment', (whole) => `: hello\n\n${whole}`],
    [
      'an event line that names another type',
      (whole) => whole.replace('event: response.created', 'event: response.queued'),
    ],
    ['[DONE] with an event line', (whole) => whole.replace(DONE, `event: done\n${DONE}`)],
    [
      'an error event without an error',
      (whole) => whole.replace(DONE, `event: error\ndata: {"type":"error","sequence_number":99}\n\n`),
    ],
    ['data that is not JSON', (whole) => whole.replace('\n\nid:', '\n\ndata: hello\n\nid:')],
    ['a frame cut off at the end', (whole) => `${whole}data: [DO`],
  ])('are reported: %s', (_, corrupt) => {
    const whole = corrupt(`${make().frames.map(encodeFrame).join('')}${DONE}`);
    const found = checkStream({ responseId: ID, segments: [{ cursor: null, bytes: bytes(whole) }] });
    expect(found.map(({ invariant }) => invariant)).toContain('frame');
  });
});
