import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { anthropic } from '#adapters/models/anthropic.ts';
import { google } from '#adapters/models/google.ts';
import { modelRouter } from '#adapters/models/model-router.ts';
import { openAi } from '#adapters/models/openai.ts';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import {
  CredentialFailure,
  type CredentialSource,
  type CredentialUse,
  type UsableCredential,
} from '#domain/capabilities/credentials/credential-source.ts';
import type { ModelPart } from '#domain/capabilities/models/model-gateway.ts';
import { modelRequest } from '../support/model-request.ts';
import { startWireFake, type WireFake } from '../support/wire-fakes/fake-server.ts';
import { fakeKinds } from '../support/wire-fakes/index.ts';

let stop: (() => Promise<unknown>) | undefined;
afterEach(async () => {
  await stop?.();
  stop = undefined;
});

const usable = (header: UsableCredential['header'], token: string | null): UsableCredential => ({
  version: 1,
  header,
  token,
  secrets: [token ?? header.value],
});

/** What each principal has. */
function sourceOf(
  credentials: Record<string, UsableCredential>,
): CredentialSource & { uses: CredentialUse[] } {
  const uses: CredentialUse[] = [];
  return {
    uses,
    read: async (use) => {
      uses.push(use);
      const found = credentials[use.principalId];
      if (found === undefined) {
        throw new CredentialFailure('missing');
      }
      return found;
    },
    refused: () => undefined,
  };
}

const stored = (principalId: string) => ({
  tenantId: 'tenant',
  spaceId: null,
  principalId,
  credentialId: 'credential',
});

const routerOf = (origin: string, source: CredentialSource) => {
  const vendor = { fetch: createGuardedFetch([origin]), credential: () => undefined, stored: source };
  return modelRouter({
    openai: openAi(vendor),
    anthropic: anthropic(vendor),
    google: google(vendor),
    openai_compatible: openAiCompatible(vendor),
  });
};

async function said(parts: AsyncIterable<ModelPart>): Promise<string> {
  let text = '';
  for await (const part of parts) text += part.type === 'text' ? part.text : '';
  return text;
}

/** Refuses everybody, and says back what it was sent. */
async function startRefusing() {
  const heads: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    heads.push(request.headers);
    request.resume().on('end', () => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: JSON.stringify(request.headers), code: 'no' } }));
    });
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  stop = async () => server.close().closeAllConnections();
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heads };
}

const never = new AbortController().signal;
const keyHeaders = ['authorization', 'x-api-key', 'x-goog-api-key'];

describe.each(fakeKinds)('a model of $kind', (of) => {
  const model = (origin: string, principalId: string) => ({
    providerKind: of.kind,
    providerModel: of.providerModel,
    baseUrl: `${origin}${of.path}`,
    stored: stored(principalId),
  });

  it.each([
    ['a bearer token', { name: 'Authorization', value: 'Bearer tk-wombat' }, 'tk-wombat'],
    ['a header', { name: 'X-Gateway-Key', value: 'gk-wombat' }, null],
  ] as const)(
    'is answered with %s that was stored, and has it removed from what comes back',
    async (_name, header, token) => {
      const secret = token ?? header.value;
      const text = `Your key is ${secret}, or ${Buffer.from(secret).toString('base64')}. The tide turns.`;
      const fake: WireFake = await startWireFake(of.vendor(), { text });
      stop = () => fake.stop();
      const source = sourceOf({ ada: usable(header, token) });
      const received = await said(
        routerOf(fake.origin, source).stream(modelRequest(model(fake.origin, 'ada')), never),
      );
      expect(received).toBe('Your key is [credential removed], or [credential removed]. The tide turns.');
      expect(source.uses).toEqual([{ ...stored('ada'), url: `${fake.origin}${of.path}` }]);
    },
  );

  it('sends each what is for it at one address, and nothing where there is none', async () => {
    const server = await startRefusing();
    const source = sourceOf({
      ada: usable({ name: 'X-Gateway-Key', value: 'gk-ada' }, null),
      grace: usable({ name: 'X-Gateway-Key', value: 'gk-grace' }, null),
      alan: usable({ name: 'Authorization', value: 'Bearer tk-alan' }, 'tk-alan'),
    });
    const models = routerOf(server.origin, source);
    const failures: unknown[] = [];
    for (const principalId of ['ada', 'grace', 'alan', 'ada', 'nobody']) {
      const asking = said(models.stream(modelRequest(model(server.origin, principalId)), never));
      failures.push(await asking.catch((error: unknown) => error));
    }
    expect(failures).toHaveLength(5);
    for (const failure of failures) {
      expect(failure).toMatchObject({ name: 'ModelFailure', code: 'model_error', retryable: false });
      expect(`${String(failure)} ${JSON.stringify(failure)}`).not.toMatch(/gk-|tk-/);
    }
    const sent = server.heads.map((head) => [
      head['x-gateway-key'],
      keyHeaders.some((name) => String(head[name] ?? '').includes('tk-alan')),
    ]);
    expect(sent).toEqual([
      ['gk-ada', false],
      ['gk-grace', false],
      [undefined, true],
      ['gk-ada', false],
    ]);
    for (const head of [server.heads[0]!, server.heads[1]!]) {
      expect(keyHeaders.filter((name) => head[name] !== undefined)).toEqual([]);
    }
  });
});
