import { afterEach, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { anthropic } from '#adapters/models/anthropic.ts';
import { google } from '#adapters/models/google.ts';
import { modelRouter } from '#adapters/models/model-router.ts';
import { openAi } from '#adapters/models/openai.ts';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import { knowledgeTool } from '#domain/knowledge/search/knowledge-definition.ts';
import type { ModelPart } from '#domain/capabilities/models/model-gateway.ts';
import { modelRequest } from '../support/model-request.ts';
import { startWireFake, type WireFake } from '../support/wire-fakes/fake-server.ts';
import { fakeKinds } from '../support/wire-fakes/index.ts';

const key = 'sk-wombat-7f3e9b0c2d41aa';
const base64 = Buffer.from(key).toString('base64');

let fake: WireFake;
afterEach(() => fake?.stop());

it.each(fakeKinds)('a key that a server of $kind echoes is removed, also across pieces', async (of) => {
  const text = `Your key is ${key}, that is ${base64} in other letters. The tide turns.`;
  fake = await startWireFake(of.vendor(), { text, toolRounds: 1, reasoning: `I was sent ${key}` });
  const vendor = { fetch: createGuardedFetch([fake.origin]), credential: () => key };
  const models = modelRouter({
    openai: openAi(vendor),
    anthropic: anthropic(vendor),
    google: google(vendor),
    openai_compatible: openAiCompatible(vendor),
  });
  const place = { baseUrl: `${fake.origin}${of.path}`, credentialRef: 'KEY', supportsReasoning: true };
  const model = { providerKind: of.kind, providerModel: of.providerModel };
  const arrived: ModelPart[][] = [];
  const asked = { role: 'user', text: `Say ${key}.` } as const;
  for (const tools of [[knowledgeTool], []]) {
    const request = modelRequest(
      { ...model, ...place },
      { messages: [asked], tools, reasoningEffort: 'low', reasoningSummary: 'auto' },
    );
    const parts: ModelPart[] = [];
    for await (const part of models.stream(request, new AbortController().signal)) parts.push(part);
    arrived.push(parts);
  }
  const said = arrived.flat().map((part) => (part.type === 'text' ? part.text : ''));
  expect(said.join('')).toBe(
    'Your key is [credential removed], that is [credential removed] in other letters. The tide turns.',
  );
  expect(said.filter((piece) => piece !== '').length).toBeGreaterThan(3);
  const received = JSON.stringify(arrived);
  expect(received).toContain('I was sent [credential removed]');
  expect(received).not.toContain('wombat');
  expect(received).not.toContain(base64.slice(0, 12));
});
