import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCallWorld, type CallWorld } from '../support/call-world.ts';
import { runScript } from '../support/platform-cli.ts';

const examples = fileURLToPath(new URL('../../docs/examples/', import.meta.url));
let place: CallWorld;
let url: string;

beforeAll(async () => {
  place = await openCallWorld();
  url = await place.gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => place?.close());

const run = (spaceId: string, apiKey: string) =>
  runScript(`${examples}failed-responses.ts`, [spaceId], { PLATFORM_URL: url, PLATFORM_API_KEY: apiKey });

describe('the typed client example', () => {
  it('is the only one, so all are run here', () => {
    expect(readdirSync(examples)).toEqual(['failed-responses.ts']);
  });

  it('prints why each failed response of a space failed', async () => {
    const ids: string[] = [];
    for (let made = 0; made < 3; made += 1) {
      const input = await place.fixtures['responses.restart']!.input(place.here);
      ids.push(input['response_id'] as string);
    }
    const ran = await run(place.here.spaceId, place.here.apiKey);
    expect([ran.stderr, ran.code]).toEqual(['', 0]);
    const lines = ids.map((id) => `${id} model_error after 0 attempts`);
    expect(ran.stdout.trim().split('\n').sort()).toEqual(lines.sort());
  });

  it('reads a refusal by its code', async () => {
    const ran = await run(place.abroad.spaceId, place.here.apiKey);
    expect(ran.stderr).toMatch(/^space_not_found req_[0-9a-f]{32}\n$/);
    expect(ran.code).toBe(1);
  });
});
