import { readdirSync, readFileSync } from 'node:fs';
import { Worker, type WorkflowBundleOption } from '@temporalio/worker';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { bundleAltered, type Alteration } from './altered-bundle.ts';
import { canaries, foundCanaries } from './canaries.ts';
import { fromRecorded } from './history-json.ts';
import {
  activitiesOf,
  eventTypes,
  payloadSizes,
  shownTexts,
  startOf,
  type RecordedHistory,
} from './history-reader.ts';
import { silenceRuntime } from './quiet.ts';

const folder = new URL('./histories/', import.meta.url);
const histories = new Map(
  readdirSync(folder).map((file) => [
    file.replace('.json', ''),
    JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as RecordedHistory,
  ]),
);

function history(name: string): RecordedHistory {
  const found = histories.get(name);
  if (found === undefined) {
    throw new Error(`No history ${name} is recorded.`);
  }
  return found;
}

/** The names of the histories that cannot be replayed. */
async function failingReplays(
  workflowBundle: WorkflowBundleOption,
  names = [...histories.keys()],
): Promise<string[]> {
  const recorded = names.map((name) => ({ workflowId: name, history: fromRecorded(history(name)) }));
  const failed: string[] = [];
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, recorded)) {
    if (error !== undefined) {
      failed.push(workflowId);
    }
  }
  return failed;
}

beforeAll(() => {
  silenceRuntime();
});

/**
 * A replay runs in this thread, and the SDK leaves its hooks there: of each promise, which would slow down all files that
 * this process runs next.
 */
afterAll(() => globalHandlers.uninstall());

describe('recorded histories', () => {
  it('cover each workflow, and of responses a kill, a vendor retry, a cancel, a deadline and tool rounds', () => {
    expect([...histories.keys()].toSorted()).toEqual([
      'cancel',
      'connector',
      'connector-run',
      'deadline',
      'discovery',
      'document',
      'document-at-once',
      'document-retry',
      'earlier-cancel',
      'earlier-deadline',
      'embedded-document',
      'erasure',
      'failure',
      'fan-out',
      'group-run',
      'model-change',
      'no-tools',
      'principal-erasure',
      'retried-document',
      'sealing',
      'server-tool',
      'space-erasure',
      'sweep',
      'tenant-deletion',
      'tool-rounds',
      'trace',
      'vendor-retry',
      'watched-connector',
      'worker-kill',
    ]);
    const [killed] = activitiesOf(history('worker-kill'));
    expect(killed).toMatchObject({ name: 'runTurn', attempt: 2 });
    expect(JSON.stringify(killed?.lastFailure)).toContain('TIMEOUT_TYPE_HEARTBEAT');
    const [retried] = activitiesOf(history('vendor-retry'));
    expect(retried).toMatchObject({
      name: 'runTurn',
      attempt: 2,
      lastFailure: { message: 'rate_limited', applicationFailureInfo: { type: 'rate_limited' } },
    });
    expect(eventTypes(history('cancel'))).toContain('WORKFLOW_EXECUTION_CANCEL_REQUESTED');
    expect(eventTypes(history('deadline'))).toContain('TIMER_FIRED');
    expect(eventTypes(history('cancel')).at(-1)).toBe('WORKFLOW_EXECUTION_CANCELED');
    // From the version whose runs completed, however their response ended.
    expect(eventTypes(history('earlier-cancel')).at(-1)).toBe('WORKFLOW_EXECUTION_COMPLETED');
    expect(eventTypes(history('document'))).toContain('WORKFLOW_EXECUTION_COMPLETED');
    // From the version that embedded in a step of its own, as documents still are that take long.
    expect(activitiesOf(history('embedded-document')).map(({ name }) => name)).toEqual([
      'extractDocument',
      'embedDocument',
      'finishDocument',
    ]);
    // By the signal of its start, and in the middle of its reading.
    expect(eventTypes(history('document-retry'))).toContain('WORKFLOW_EXECUTION_SIGNALED');
    expect(eventTypes(history('retried-document')).at(-1)).toBe('WORKFLOW_EXECUTION_CONTINUED_AS_NEW');
    expect(activitiesOf(history('group-run')).filter(({ name }) => name === 'checkSource')).toHaveLength(2);
    // The watch is ended by the actor of a paused connector, after runs beside it.
    expect(eventTypes(history('watched-connector'))).toEqual(
      expect.arrayContaining(['CHILD_WORKFLOW_EXECUTION_COMPLETED', 'ACTIVITY_TASK_CANCEL_REQUESTED']),
    );
    expect(startOf(history('sweep')).type).toBe('runSweep');
    expect(startOf(history('sealing')).type).toBe('runSweep');
    expect(startOf(history('discovery')).type).toBe('discoverTools');
    expect(startOf(history('trace')).type).toBe('traceResponse');
  });

  it('replay on the workflows of today', async () => {
    expect(await failingReplays({ codePath: inject('workflowBundle') })).toEqual([]);
  });

  /** Events of a history in another order, with numbers and references to match. */
  function rearranged(events: RecordedHistory['events'], activityIds: readonly string[]): RecordedHistory {
    const numbers = new Map(events.map(({ eventId }, n) => [String(eventId), String(n + 1)]));
    const ids = new Map(activityIds.map((id, n) => [id, String(n + 1)]));
    return JSON.parse(
      JSON.stringify({ events })
        .replaceAll(
          /("\w*[eE]ventId":)"(\d+)"/g,
          (_, name: string, id: string) => `${name}"${numbers.get(id) ?? id}"`,
        )
        .replaceAll(
          /("activityId":)"(\d+)"/g,
          (_, name: string, id: string) => `${name}"${ids.get(id) ?? id}"`,
        ),
    ) as RecordedHistory;
  }

  /** The event as a command of another workflow task. */
  function moved(event: RecordedHistory['events'][number], task: RecordedHistory['events'][number]) {
    return JSON.parse(
      JSON.stringify(event).replaceAll(
        /("workflowTaskCompletedEventId":)"\d+"/g,
        (_, name: string) => `${name}"${String(task.eventId)}"`,
      ),
    ) as RecordedHistory['events'][number];
  }

  async function expectReplay(recorded: RecordedHistory): Promise<void> {
    const run = [{ workflowId: 'earlier-connector', history: fromRecorded(recorded) }];
    const workflowBundle = { codePath: inject('workflowBundle') };
    for await (const { error } of Worker.runReplayHistories({ workflowBundle }, run)) {
      expect(error).toBeUndefined();
    }
  }

  const scheduledActivity = 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED';

  it('replay where an earlier version of the actor was given the plan of a newer worker', async () => {
    const { events } = history('watched-connector');
    // As recorded, but without the watch: until the next plan, which a signal has led to.
    const at = events.findIndex(({ eventType }) => eventType === 'EVENT_TYPE_MARKER_RECORDED');
    const next = events.findIndex((event, n) => n > at + 2 && event.eventType === scheduledActivity);
    await expectReplay(rearranged([...events.slice(0, at), ...events.slice(at + 3, next + 1)], ['1', '3']));
  });

  it('replay where an earlier version of a run went on after the first groups that a newer worker read', async () => {
    const recorded = structuredClone(history('connector-run'));
    const [checked] = recorded.events.flatMap((event) => event['activityTaskCompletedEventAttributes'] ?? []);
    const data = Buffer.from(JSON.stringify({ state: 'more' })).toString('base64');
    const metadata = { encoding: Buffer.from('json/plain').toString('base64') };
    Object.assign(checked as object, { result: { payloads: [{ metadata, data }] } });
    await expectReplay(recorded);
  });

  it('replay where the actor begins to watch with a later plan than the first one of a newer worker', async () => {
    const { events } = history('watched-connector');
    const at = events.findIndex(({ eventType }) => eventType === 'EVENT_TYPE_MARKER_RECORDED');
    const watch = events.slice(at, at + 3);
    const plans = events.flatMap((event, n) =>
      event.eventType === scheduledActivity && !watch.includes(event) ? [n] : [],
    );
    const planned = (plan: number) => {
      const key = 'activityTaskCompletedEventAttributes';
      return (events[plan + 2] as Record<string, { result?: unknown } | undefined>)[key]!;
    };
    // The second plan is the first one again: it finds no run.
    const [first, second, last] = [plans[0]!, plans[1]!, plans.at(-1)!];
    const completed = {
      ...events[second + 2]!,
      activityTaskCompletedEventAttributes: { ...planned(second), result: planned(first).result },
    } as RecordedHistory['events'][number];
    const task = (event: number) => events.slice(event, event + 3);
    const without = [
      ...events.slice(0, at),
      ...events.slice(at + 3, second + 2),
      completed,
      ...task(second + 3),
      ...watch.map((event) => moved(event, events[second + 5]!)),
      ...events.slice(last - 4),
    ];
    await expectReplay(rearranged(without, ['1', '3', '2', '7']));
  });

  it('would show content that a payload holds', () => {
    const data = Buffer.from(JSON.stringify({ text: `So: ${canaries.answer}.` })).toString('base64');
    expect(foundCanaries(shownTexts({ events: [{ input: { payloads: [{ data }] } }] }))).toEqual([
      canaries.answer,
    ]);
  });

  it.each(Array.from(histories.keys()))('%s shows no content and no name', (name) => {
    const texts = shownTexts(history(name));
    expect(foundCanaries(texts)).toEqual([]);
    expect(texts.filter((text) => /tenant-\d+-\d+-/.test(text))).toEqual([]);
    expect(texts.filter((text) => /[\w.]@[\w-]+\.[a-z]{2}/i.test(text))).toEqual([]);
  });

  it.each(Array.from(histories.keys()))('%s carries only small payloads', (name) => {
    expect(Math.max(...payloadSizes(history(name)))).toBeLessThan(64 * 1024);
  });

  it('run a response without tools as exactly one activity', () => {
    const activities = activitiesOf(history('no-tools'));
    expect(activities.map(({ name, summary }) => ({ name, summary }))).toEqual([
      { name: 'runTurn', summary: 'model turn 1 · plain' },
    ]);
  });

  it('run a tool round with k calls as k + 1 activities', () => {
    const activities = activitiesOf(history('tool-rounds'));
    const perRound = [0, 1, 2, 3].map((round) =>
      activities.filter(({ input }) => input['iteration'] === round).map(({ name }) => name),
    );
    expect(perRound).toEqual([
      ['runTurn', 'runCall'],
      ['runTurn', 'runCall', 'runCall', 'runCall'],
      ['runTurn', 'runCall'],
      ['runTurn'],
    ]);
    expect(activities).toHaveLength(9);
    expect(new Set(activities.map(({ summary }) => summary))).toEqual(
      new Set([1, 2, 3, 4].map((turn) => `model turn ${turn} · tools`).concat('tool knowledge_search')),
    );
  });

  it('can be found and read by an operator who has only the id', () => {
    for (const name of [
      'worker-kill',
      'vendor-retry',
      'cancel',
      'deadline',
      'no-tools',
      'tool-rounds',
      'server-tool',
    ]) {
      const start = startOf(history(name));
      const { tenantId, responseId } = activitiesOf(history(name))[0]!.input as Record<string, string>;
      expect(start).toMatchObject({
        workflowId: `response/${tenantId}/${responseId}`,
        type: 'generateResponse',
        taskQueue: 'interactive',
        summary: expect.stringMatching(/^generateResponse · [a-z]+$/),
        searchAttributes: { TenantId: tenantId, SpaceId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      });
      expect(Object.keys(start.searchAttributes).toSorted()).toEqual(['SpaceId', 'TenantId']);
    }
  });
});

describe('the workflow bundle', () => {
  it('is small and holds no entity, no ORM and no database client', () => {
    const code = readFileSync(inject('workflowBundle'), 'utf8');
    expect(Buffer.byteLength(code)).toBeLessThan(2_500_000);
    expect(code).toContain('generateResponse');
    for (const word of [
      'mikro-orm',
      'defineEntity',
      'tableName',
      'pg_notify',
      'select ',
      'node_modules/pg/',
    ]) {
      expect({ word, found: code.includes(word) }).toEqual({ word, found: false });
    }
  });
});

describe('a changed workflow', () => {
  const workflow = 'workflows/generate-response/workflow.ts';
  const responses = [
    'cancel',
    'deadline',
    'earlier-cancel',
    'earlier-deadline',
    'failure',
    'no-tools',
    'server-tool',
    'tool-rounds',
    'vendor-retry',
    'worker-kill',
  ];
  const changes: (Alteration & { title: string; breaks: string[] })[] = [
    {
      title: 'with the turn and the closing swapped',
      file: workflow,
      replace: [
        ['const { runTurn } = proxy', 'const { closeResponse: runTurn } = proxy'],
        [
          'const { closeResponse, endResponse } = proxy',
          'const { runTurn: closeResponse, endResponse } = proxy',
        ],
      ],
      breaks: responses,
    },
    {
      title: 'with the turn and the call swapped',
      file: workflow,
      replace: [
        ['const { runTurn } = proxy', 'const { runCall: runTurn } = proxy'],
        ['const { runCall } = proxy', 'const { runTurn: runCall } = proxy'],
      ],
      breaks: responses,
    },
    {
      title: 'with one more activity in front',
      file: workflow,
      replace: [
        [
          '  const deadline = hold',
          `  await runCall({ tenantId, responseId, iteration: 0, callIndex: 0 });\n  const deadline = hold`,
        ],
      ],
      breaks: responses,
    },
    {
      title: 'of a sweep that waits before its round',
      file: 'workflows/run-sweep/workflow.ts',
      replace: [['    due = null;\n', '    due = null;\n    await condition(() => false, 1_000);\n']],
      breaks: ['sealing', 'sweep'],
    },
  ];

  it.each(changes)('$title is refused by the replay', async (change) => {
    expect((await failingReplays(await bundleAltered(change))).toSorted()).toEqual(change.breaks);
  });
});
