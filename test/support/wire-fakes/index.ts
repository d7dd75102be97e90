import type { NewModel } from '#domain/capabilities/models/add-model.ts';
import type { ProviderKind } from '#domain/capabilities/models/model-gateway.ts';
import { providerDefaults } from '#domain/capabilities/models/provider-defaults.ts';
import { scriptedModel } from '../world.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import { chatCompletions } from './chat-completions.ts';
import type { Vendor } from './fake-server.ts';
import { gemini } from './gemini.ts';
import { openAiResponses } from './openai-responses.ts';

export interface FakeKind {
  kind: Exclude<ProviderKind, 'builtin'>;
  providerModel: string;
  /** Of the base URL. */
  path: string;
  vendor(): Vendor;
}

/** The four wire formats, each with a model of its vendor. */
export const fakeKinds: readonly FakeKind[] = [
  { kind: 'openai', providerModel: 'gpt-5-mini', path: '/v1', vendor: openAiResponses },
  { kind: 'anthropic', providerModel: 'claude-sonnet-4-5', path: '/v1', vendor: anthropicMessages },
  { kind: 'google', providerModel: 'gemini-3-pro-preview', path: '/v1beta', vendor: gemini },
  { kind: 'openai_compatible', providerModel: 'thinker-large', path: '/v1', vendor: chatCompletions },
];

export function fakeKind(kind: FakeKind['kind']): FakeKind {
  return fakeKinds.find((each) => each.kind === kind)!;
}

/** A model row that reaches a fake. */
export function fakeModel(of: FakeKind, origin: string, change: Partial<NewModel> = {}): NewModel {
  return {
    ...scriptedModel({ url: `${origin}${of.path}` }, of.kind),
    ...providerDefaults(of.kind, of.providerModel),
    providerKind: of.kind,
    providerModel: of.providerModel,
    supportsReasoning: true,
    ...change,
  };
}
