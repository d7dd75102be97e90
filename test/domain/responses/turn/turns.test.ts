import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { closeResponse } from '#domain/responses/end/close-response.ts';
import { Fenced } from '#domain/responses/turn/commit-turn.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import { yieldTurn } from '#domain/responses/turn/fail-turn.ts';
import { openEngine, search, type Engine } from '../../../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

function settled(status: string, reason: string | null = null) {
  return { kind: 'settled', result: { next: 'done', calls: [], end: { status, reason } } };
}

async function outcomesOf(responseId: string): Promise<string[]> {
  const { rows } = await engine.admin.query<{ outcome: string }>(
    'select outcome from turn_attempts where response_id = $1 order by iteration, attempt',
    [responseId],
  );
  return rows.map((row) => row.outcome);
}

describe('claiming a turn', () => {
  it('begins a queued response: its deadline runs from then', async () => {
    const id = await engine.create({ timeoutSeconds: 77 });
    expect((await engine.record(id)).status).toBe('queued');
    const { turn } = await engine.attempt(id);
    expect(turn).toMatchObject({ attempt: 1, epoch: 1, iteration: 0 });
    const { rows } = await engine.admin.query<{ seconds: string; status: string }>(
      'select extract(epoch from deadline_at - started_at) as seconds, status from responses where id = $1',
      [id],
    );
    expect(rows).toEqual([{ seconds: '77.000000', status: 'in_progress' }]);
  });

  it('is possible again while the response is in progress, and fences the attempt before', async () => {
    const id = await engine.create();
    const first = await engine.attempt(id);
    expect(await first.say('The Earth ')).toBe(true);
    const second = await engine.attempt(id);
    expect(second.turn.epoch).toBeGreaterThan(first.turn.epoch);
    expect(await first.say('is round')).toBe(false);
    await expect(first.commit()).rejects.toThrow(Fenced);
    expect(await outcomesOf(id)).toEqual(['crashed', 'running']);
    expect((await engine.record(id)).platform.attempts).toBe(2);
  });

  it('answers a committed turn with its stored result, however often it is claimed', async () => {
    const id = await engine.create();
    const attempt = await engine.attempt(id);
    const result = await attempt.commit({ calls: [search('tides'), search('moon')], reason: 'tool_calls' });
    expect(result).toMatchObject({ next: 'tools', calls: [{ index: 0 }, { index: 1 }] });
    const before = await engine.events(id);
    expect(await engine.claim(id)).toEqual({ kind: 'settled', result });
    expect(await engine.claim(id)).toEqual({ kind: 'settled', result });
    expect(await engine.events(id)).toEqual(before);
    expect(await outcomesOf(id)).toEqual(['committed']);
  });

  it('answers done for an ended response, and changes nothing', async () => {
    const id = await engine.create();
    await (await engine.attempt(id)).commit();
    const before = await engine.events(id);
    expect(await engine.claim(id)).toEqual(settled('completed'));
    expect(await engine.claim(id, 1)).toEqual(settled('completed'));
    expect(await engine.events(id)).toEqual(before);
  });

  it('answers done for an unknown id', async () => {
    expect(await engine.claim('resp_unknown')).toEqual(settled('gone'));
  });

  it('ends a response whose owner lost the permission to create responses', async () => {
    const other = await openEngine();
    try {
      const id = await other.create();
      await other.admin.query('delete from role_assignments; delete from space_members');
      expect(await other.claim(id)).toEqual(settled('failed', 'permission_revoked'));
      expect(await other.record(id)).toMatchObject({
        status: 'failed',
        platform: { failure_reason: { code: 'permission_revoked' } },
      });
    } finally {
      await other.stop();
    }
  });

  it.each([
    ['a tenant that is to be deleted', `update tenants set status = 'deletion_scheduled'`],
    ['a deleted space', 'update spaces set deleted_at = now()'],
  ])('cancels a response of %s', async (_what, deletion) => {
    const other = await openEngine();
    try {
      const id = await other.create();
      await other.admin.query(deletion);
      expect(await other.claim(id)).toEqual(settled('cancelled'));
      expect(await other.record(id)).toMatchObject({ status: 'cancelled' });
    } finally {
      await other.stop();
    }
  });
});

describe('the model lane', () => {
  it('accepts a run only at the stream’s next number', async () => {
    const id = await engine.create();
    const attempt = await engine.attempt(id);
    await attempt.say('one');
    const stale = attempt.nextN;
    await attempt.say(' two');
    attempt.nextN = stale;
    expect(await attempt.say(' three')).toBe(false);
    attempt.nextN = stale + 2;
    expect(await attempt.say(' four')).toBe(false);
    const numbers = (await engine.events(id)).map((event) => event['sequence_number']);
    expect(numbers).toEqual(numbers.map((_, n) => n));
  });

  it('accepts nothing once the response is cancelled, and a commit is fenced', async () => {
    const id = await engine.create();
    const attempt = await engine.attempt(id);
    await attempt.say('half a sen');
    await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
    expect(await attempt.say('tence')).toBe(false);
    await expect(attempt.commit()).rejects.toThrow(Fenced);
    const record = await engine.record(id);
    expect(record).toMatchObject({
      status: 'cancelled',
      output: [{ status: 'incomplete', content: [{ text: 'half a sen' }] }],
    });
    expect((await engine.events(id)).at(-1)).toMatchObject({ type: 'response.cancelled' });
  });
});

describe('a crashed attempt', () => {
  it('is followed by an attempt that continues after its last published character', async () => {
    const id = await engine.create();
    const first = await engine.attempt(id);
    await first.say('The moon pulls ');
    const second = await engine.attempt(id);
    expect(second.turn.composer.open?.text).toBe('The moon pulls ');
    expect(second.turn.messages.slice(-2)).toEqual([
      { role: 'assistant', text: 'The moon pulls', calls: [] },
      { role: 'user', text: expect.stringContaining('Continue') as string },
    ]);
    await second.say('the sea.');
    await second.commit();
    expect((await engine.record(id)).output).toMatchObject([
      { type: 'message', status: 'completed', content: [{ text: 'The moon pulls the sea.' }] },
    ]);
  });

  it.each<Partial<CreateResponseInput>>([
    { format: { type: 'json_object' } },
    { format: { type: 'json_schema', name: 'tide', schema: { type: 'object' } } },
    { streamGranularity: 'item' },
  ])('of %j has published nothing: the next one starts again', async (input) => {
    const id = await engine.create(input);
    await (await engine.attempt(id)).say('{"hour": 1');
    const second = await engine.attempt(id);
    expect(second.turn.messages.at(-1)).toEqual({ role: 'user', text: 'Why are there tides?' });
    await second.say('{"hour": ');
    await second.say('12}');
    await second.commit();
    expect((await engine.record(id)).output).toMatchObject([{ content: [{ text: '{"hour": 12}' }] }]);
  });

  it('ten times in a row without a new character ends the response as lost', async () => {
    const id = await engine.create();
    for (let crash = 0; crash < 10; crash += 1) {
      await engine.attempt(id);
    }
    expect(await engine.claim(id)).toEqual(settled('failed', 'generation_lost'));
    expect(await engine.record(id)).toMatchObject({
      status: 'failed',
      platform: { failure_reason: { code: 'generation_lost' }, attempts: 10 },
    });
  });

  it('is survived any number of times as long as each adds a character', async () => {
    const id = await engine.create();
    for (let crash = 0; crash < 12; crash += 1) {
      const attempt = await engine.attempt(id);
      expect(await attempt.say(`${crash} `)).toBe(true);
    }
    const last = await engine.attempt(id);
    await last.say('done.');
    await last.commit();
    expect((await engine.record(id)).status).toBe('completed');
  });

  it('does not count when its worker was shut down', async () => {
    const id = await engine.create();
    for (let stop = 0; stop < 12; stop += 1) {
      const { turn } = await engine.attempt(id);
      await engine.database.unitOfWork.inTenant(turn.tenantId, (em) => yieldTurn(em, turn));
    }
    expect((await engine.claim(id)).kind).toBe('claimed');
    expect(new Set((await outcomesOf(id)).slice(0, 12))).toEqual(new Set(['aborted']));
  });

  it('fails the response when its owner wants no joined text', async () => {
    const id = await engine.create({ onGenerationLoss: 'fail' });
    await (await engine.attempt(id)).say('Half');
    expect(await engine.claim(id)).toEqual(settled('failed', 'generation_lost'));
    expect((await engine.record(id)).platform.failure_reason?.code).toBe('generation_lost');
  });

  it('is superseded by a new item when its owner wants a fresh text', async () => {
    const id = await engine.create({ onGenerationLoss: 'restart' });
    await (await engine.attempt(id)).say('Half of it');
    const second = await engine.attempt(id);
    await second.say('Whole.');
    await second.commit();
    const record = await engine.record(id);
    expect(record.output).toMatchObject([{ content: [{ text: 'Whole.' }] }]);
    const done = (await engine.events(id)).filter((event) => event['type'] === 'response.output_item.done');
    expect(done).toMatchObject([
      { output_index: 0, item: { status: 'incomplete', platform: { superseded_by: record.output[0]!.id } } },
      { output_index: 1, item: { status: 'completed' } },
    ]);
  });
});

describe('the closing activity', () => {
  const close = (id: string, reason: Parameters<typeof closeResponse>[2]) =>
    engine.database.unitOfWork.inTenant(engine.world.tenantId, (em) => closeResponse(em, id, reason));

  it('returns the time left until the deadline, and closes nothing before', async () => {
    const id = await engine.create({ timeoutSeconds: 60 });
    await engine.attempt(id);
    const left = await close(id, { kind: 'deadline' });
    expect(left).toBeGreaterThan(55_000);
    expect(left).toBeLessThanOrEqual(60_000);
    expect((await engine.record(id)).status).toBe('in_progress');
  });

  it('returns no more than the time limit of a response that waits for its first turn', async () => {
    expect(await close(await engine.create({ timeoutSeconds: 60 }), { kind: 'deadline' })).toBe(60_000);
    expect(await close(await engine.create({ timeoutSeconds: 1 }), { kind: 'deadline' })).toBe(10_000);
  });

  it('ends a response past its deadline as incomplete', async () => {
    const id = await engine.create();
    await (await engine.attempt(id)).say('Not finis');
    await engine.admin.query(`update responses set deadline_at = now() - interval '1 s' where id = $1`, [id]);
    expect(await close(id, { kind: 'deadline' })).toBeNull();
    expect(await engine.record(id)).toMatchObject({
      status: 'incomplete',
      output: [{ status: 'incomplete', content: [{ text: 'Not finis' }] }],
      platform: { incomplete_reason: 'deadline_exceeded' },
    });
  });

  it('fails a response that no worker began within an hour', async () => {
    const id = await engine.create();
    await engine.admin.query(`update responses set queued_since = now() - interval '61 min' where id = $1`, [
      id,
    ]);
    expect(await close(id, { kind: 'deadline' })).toBeNull();
    expect((await engine.record(id)).platform.failure_reason?.code).toBe('engine_unavailable');
  });

  it('records one audit event and one terminal event, also when it runs twice', async () => {
    const id = await engine.create();
    await engine.attempt(id);
    await Promise.all([
      close(id, { kind: 'failed', code: 'internal_error' }),
      close(id, { kind: 'cancelled' }),
      close(id, { kind: 'failed', code: 'internal_error' }),
      engine.claim(id),
    ]);
    const terminal = (await engine.events(id)).filter((event) =>
      ['response.failed', 'response.cancelled'].includes(String(event['type'])),
    );
    expect(terminal).toHaveLength(1);
    const { rows } = await engine.admin.query<{ event_type: string }>(
      'select event_type from events where resource_id = $1',
      [id],
    );
    expect(rows).toEqual([{ event_type: `space.${String(terminal[0]!['type']).replace('.', '_')}` }]);
  });
});
