import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEngine, type Engine } from '../../../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine({ inputModalities: ['text', 'image'], contextWindow: 1_000_000 });
});
afterAll(() => engine.stop());

it('one large image may be referred to, but not until a context is larger than a process can hold', async () => {
  const image = Buffer.alloc(3_000_000).toString('base64');
  const shown = await engine.create({
    input: [
      {
        type: 'message',
        role: 'user',
        text: '',
        content: [{ type: 'input_image', image_url: `data:image/png;base64,${image}`, detail: 'auto' }],
      },
    ],
  });
  const { rows } = await engine.admin.query<{ id: string }>('select id from items where response_id = $1', [
    shown,
  ]);
  const often = (times: number) => ({
    input: Array.from({ length: times }, () => ({ type: 'item_reference' as const, id: rows[0]!.id })),
  });
  await expect(engine.create(often(8))).resolves.toMatch(/^resp_/);
  await expect(engine.create(often(9))).rejects.toMatchObject({ code: 'context_length_exceeded' });
});
